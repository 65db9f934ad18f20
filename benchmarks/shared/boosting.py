"""scikit-learn's gradient boosting, which people use instead: with everything known, and on its best k columns."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.inspection import permutation_importance
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import TargetEncoder

from askwise.evaluation.metrics import all_metrics
from benchmarks.shared.data import Array, Inputs

# More categories than this it does not take: they are replaced by the mean answer of their rows.
MOST_CATEGORIES = 255
# Permuting the columns of more rows only takes time.
IMPORTANCE_ROWS = 10_000


def as_frame(x: Inputs) -> pd.DataFrame:
    """A table as boosting reads it: what is no number is a category."""
    frame = pd.DataFrame(x)
    frame.columns = [str(name) for name in frame.columns]
    other = [name for name in frame.columns if not pd.api.types.is_numeric_dtype(frame[name])]
    return frame.astype(dict.fromkeys(other, "category"))


class Boosting:
    """A boosted model of one table and its metrics, for classes or for a number."""

    def __init__(self, x: Inputs, y: Array, is_number: bool = False, seed: int = 0, **settings: Any) -> None:
        self.x, self.y, self.is_number, self.seed = as_frame(x), y, is_number, seed
        self.settings = settings
        self.model = self.fit(list(self.x.columns))

    def fit(self, columns: Sequence[str]) -> Any:
        """Train on some of the columns."""
        kind = HistGradientBoostingRegressor if self.is_number else HistGradientBoostingClassifier
        model = kind(random_state=self.seed, **self.settings)
        x = self.x[list(columns)]
        many = [name for name in x.select_dtypes("category") if x[name].nunique() > MOST_CATEGORIES]
        if many:
            encoder = TargetEncoder(random_state=self.seed)
            names = {"verbose_feature_names_out": False, "remainder": "passthrough"}
            encoded = make_column_transformer((encoder, many), **names).set_output(transform="pandas")
            model = make_pipeline(encoded, model)
        with warnings.catch_warnings():
            # scikit-learn 1.9 wants the encoder's seed in a generator of folds, which those before do not take.
            warnings.filterwarnings("ignore", "`TargetEncoder", FutureWarning)
            return model.fit(x, self.y)

    def everything(self, x: Inputs, y: Array, metric: str) -> float:
        """The metric with all columns."""
        return self._measure(self.model, as_frame(x), y, metric)

    def on_best_columns(self, x: Inputs, y: Array, metric: str, most: int | None = None) -> list[float]:
        """The metric on the best 1, 2, ... columns, one model for each."""
        order, frame = self.order(), as_frame(x)
        sets = [order[:k] for k in range(1, (most or len(order)) + 1)]
        return [self._measure(self.fit(best), frame[best], y, metric) for best in sets]

    def order(self) -> list[str]:
        """All columns, the most important first, by permutation on the training rows."""
        rows = np.random.default_rng(self.seed).permutation(len(self.y))[:IMPORTANCE_ROWS]
        scoring = "r2" if self.is_number else "neg_log_loss"
        found = permutation_importance(
            self.model, self.x.iloc[rows], self.y[rows], scoring=scoring, random_state=self.seed
        )
        return self.x.columns[np.argsort(-found.importances_mean, kind="stable")].tolist()

    def _measure(self, model: Any, x: pd.DataFrame, y: Array, metric: str) -> float:
        if self.is_number:
            answers, code = model.predict(x), y.astype(float)
        else:
            answers, code = model.predict_proba(x), np.searchsorted(model.classes_, y)
        return float(all_metrics()[metric](answers, code, np.ones((1, len(y))))[0])
