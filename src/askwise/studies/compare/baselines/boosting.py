"""Gradient boosting of trees, in the order of permutation importance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.preprocessing import OrdinalEncoder, TargetEncoder

from askwise.core.arrays import Array
from askwise.studies.compare.baselines.baseline import Baseline, answer_of
from askwise.studies.compare.baselines.columns import Cases, texts_among, with_values

# Trees are added up to this number, scikit-learn's default; the best number is chosen on rows held out.
MOST_TREES = 100
# What matters is told by fewer.
TREES_FOR_ORDER = 50
# The most categories that the trees take as they are.
MOST_CATEGORIES = 255
# Importance is the mean over so many splits, each with this share of the rows held out.
SPLITS, SHARE = 3, 1 / 3


@dataclass(frozen=True, eq=False)
class FittedTrees:
    """Boosted trees, and how columns become their inputs."""

    encoder: Any
    model: Any

    def answer(self, frame: pd.DataFrame) -> Array:
        return answer_of(self.model, self.encoder.transform(frame))


class Boosting(Baseline):
    """scikit-learn's HistGradientBoosting, which takes missing values and categories as they are."""

    def importance(self, cases: Cases, y: Array) -> Array:
        """By how much the loss of rows held out rises if the values of a group are shuffled among them."""
        gains = np.zeros(cases.n_groups)
        for draw in range(SPLITS):
            fit, held = self.held_out(y, SHARE, draw)
            trees = self._trees(cases.frame, y, TREES_FOR_ORDER, fit)
            frame, truth = cases.frame.iloc[held], y[held]
            least = self.loss(trees.answer(frame), truth, held)
            other = np.random.default_rng([self.seed, draw]).permutation(len(held))
            for group, columns in enumerate(cases.members):
                shuffled = frame.copy()
                for c in columns:
                    shuffled[c] = frame[c].to_numpy()[other]
                gains[group] += (self.loss(trees.answer(shuffled), truth, held) - least) / SPLITS
        return gains

    def fit(self, frame: pd.DataFrame, y: Array) -> FittedTrees:
        fit, held = self.held_out(y)
        probe = self._trees(frame, y, MOST_TREES, fit)
        stages = probe.model.staged_predict_proba if self.is_classes else probe.model.staged_predict
        inputs = probe.encoder.transform(frame.iloc[held])
        losses = [self.loss(answer, y[held], held) for answer in stages(inputs)]
        return self._trees(frame, y, 1 + int(np.argmin(losses)), np.arange(len(y)))

    def _trees(self, every: pd.DataFrame, answers: Array, count: int, rows: Array) -> FittedTrees:
        frame, y = every.iloc[rows], answers[rows]
        encoder = self._encoder(frame, y)
        inputs = encoder.fit_transform(frame, y)
        kind = HistGradientBoostingClassifier if self.is_classes else HistGradientBoostingRegressor
        n_few = len(encoder.transformers[0][2])
        model = kind(max_iter=count, categorical_features=list(range(n_few)), early_stopping=False,
                     random_state=self.seed)  # fmt: skip
        return FittedTrees(encoder, model.fit(inputs, y, self.weights_of(rows)))

    def _encoder(self, frame: pd.DataFrame, y: Array) -> ColumnTransformer:
        """Categories are numbered and come first; of very many, the mean answer of each stands in its place."""
        used = with_values(frame)
        texts = texts_among(frame, used)
        few = [c for c in texts if frame[c].nunique() <= MOST_CATEGORIES]
        numbered = OrdinalEncoder(
            handle_unknown="use_encoded_value", unknown_value=np.nan, encoded_missing_value=np.nan
        )
        return ColumnTransformer(
            [
                ("few", numbered, few),
                ("many", self._mean_answers(y), [c for c in texts if c not in few]),
                ("numbers", "passthrough", [c for c in used if c not in texts]),
            ]
        )

    def _mean_answers(self, y: Array) -> TargetEncoder:
        """The mean answer of a category, for each row taken from other rows."""
        target = ("binary" if len(np.unique(y)) == 2 else "multiclass") if self.is_classes else "continuous"
        # Since scikit-learn 1.9 the folds have the seed, and no longer the encoder.
        if TargetEncoder().get_params().get("random_state", "deprecated") != "deprecated":
            return TargetEncoder(target_type=target, random_state=self.seed)
        folds = (StratifiedKFold if self.is_classes else KFold)(5, shuffle=True, random_state=self.seed)
        return TargetEncoder(target_type=target, cv=folds)
