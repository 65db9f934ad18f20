"""Logistic regression, or ridge regression of a number, in the order in which the lasso takes questions in."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge, lasso_path
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from askwise.core.arrays import Array
from askwise.studies.compare.baselines.baseline import Baseline, answer_of
from askwise.studies.compare.baselines.columns import Cases, texts_among, with_values

# How strongly coefficients are drawn to 0; the best is chosen on rows held out.
STRENGTHS = (0.1, 1.0, 10.0, 100.0)
# The rarest categories beyond so many count as one.
MOST_CATEGORIES = 100
# Penalties of the path, from the largest that matters down to this share of it.
PENALTIES, LEAST = 40, 1e-3
# Since scikit-learn 1.8 the ratio says that a penalty is of absolute values.
L1 = {"penalty": "l1"} if LogisticRegression().penalty == "l2" else {"l1_ratio": 1.0}


@dataclass(frozen=True, eq=False)
class FittedLine:
    """A linear model, and how columns become its inputs."""

    encoder: Any
    model: Any

    def answer(self, frame: pd.DataFrame) -> Array:
        return answer_of(self.model, self.encoder.transform(frame))


class Linear(Baseline):
    """Logistic or ridge regression; missing values are filled in and marked, inputs have unit deviation."""

    def importance(self, cases: Cases, y: Array) -> Array:
        """The penalty at which the first input of a group gets a coefficient, as the penalty falls; 0 if none does.

        Groups that come in at the same step are told apart by the size of their coefficients.
        """
        encoder = _encoder(cases.frame)
        inputs = encoder.fit_transform(cases.frame)
        places = {int(name): place for name, place in encoder.output_indices_.items() if name != "remainder"}
        penalties = self._penalties(inputs, y)
        ratio = penalties[0] / penalties[1]
        entered = np.zeros(cases.n_groups)
        for penalty, sizes in zip(penalties, self._path(inputs, y, penalties), strict=True):
            strength = np.array([sum(sizes[places[c]].sum() for c in columns) for columns in cases.members])
            new = (strength > 0) & (entered == 0)
            if new.any():
                entered[new] = penalty * ratio ** (strength[new] / strength[new].max())
            if entered.all():
                break
        return entered

    def fit(self, frame: pd.DataFrame, y: Array) -> FittedLine:
        encoder = _encoder(frame)
        inputs = encoder.fit_transform(frame)
        fit, held = self.held_out(y)
        models = [self._model(strength).fit(inputs[fit], y[fit], self.weights_of(fit)) for strength in STRENGTHS]
        losses = [self.loss(answer_of(model, inputs[held]), y[held], held) for model in models]
        return FittedLine(encoder, self._model(STRENGTHS[int(np.argmin(losses))]).fit(inputs, y, self.weights))

    def _model(self, strength: float) -> Any:
        return LogisticRegression(C=1 / strength, max_iter=1000) if self.is_classes else Ridge(alpha=strength)

    def _penalties(self, inputs: Array, y: Array) -> Array:
        """From the smallest penalty that leaves every coefficient at 0, down."""
        targets = np.eye(int(y.max()) + 1)[y] if self.is_classes else y[:, None]
        away = targets - np.average(targets, axis=0, weights=self.weights)
        most = np.abs(inputs.T @ (self.root(y)[:, None] ** 2 * away)).max() / len(y)
        return most * np.geomspace(1.0, LEAST, PENALTIES)

    def _path(self, inputs: Array, y: Array, penalties: Array) -> Iterator[Array]:
        """The sizes of the coefficients, (inputs,), at each penalty."""
        if not self.is_classes:
            root, away = self.root(y), y - np.average(y, weights=self.weights)
            _, coefficients, _ = lasso_path(root[:, None] * inputs, root * away, alphas=penalties)
            yield from np.abs(coefficients.T)
            return
        model = LogisticRegression(**L1, solver="saga", warm_start=True, tol=1e-3, random_state=self.seed)
        with warnings.catch_warnings():
            # Which coefficient is the first to move is told long before the last digit.
            warnings.simplefilter("ignore", ConvergenceWarning)
            for penalty in penalties:
                model.C = 1 / (len(y) * penalty)
                yield np.abs(model.fit(inputs, y, self.weights).coef_).sum(0)

    def root(self, y: Array) -> Array:
        """The roots of the weights, (rows,): squared errors of rows times these are weighted."""
        return np.ones(len(y)) if self.weights is None else np.sqrt(self.weights)


def _encoder(frame: pd.DataFrame) -> ColumnTransformer:
    """One transformer for each column, called by it, so that each input can be traced to its question."""
    used = with_values(frame)
    texts = set(texts_among(frame, used))
    return ColumnTransformer([(str(c), _text_inputs() if c in texts else _number_inputs(), [c]) for c in used])


def _number_inputs() -> Any:
    return make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())


def _text_inputs() -> Any:
    one_hot = OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=MOST_CATEGORIES, sparse_output=False)
    return make_pipeline(one_hot, StandardScaler())
