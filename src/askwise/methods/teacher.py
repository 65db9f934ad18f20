"""Answers to learn from, less noisy than those of the table: mixed with what other models predict out of fold."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from scipy.optimize import nnls
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.preprocessing import TargetEncoder

from askwise.core.arrays import Array
from askwise.core.row_weights import effective_rows
from askwise.core.tasks import Classification, Task
from askwise.methods.screening import Columns, Screening

FOLDS = 5
# Half of the target is the teacher's at most; less with more rows than so many, which leave less to chance.
MOST_WEIGHT, FULL_WEIGHT_ROWS = 0.5, 10_000
# The share of the answer's entropy or variance left unexplained from which on answers are taken for noisy.
NOISY = 0.25
# Boosting learns from so many columns at most: those that tell most by themselves.
MOST_COLUMNS = 100
# With fewer rows, boosting finds nothing that a line does not; with more labels it takes too long.
FEWEST_BOOSTED, MOST_BOOSTED_LABELS = 400, 20
# Of larger tables, counted in values and in inputs of a network, boosting or a linear model would take too long.
MOST_VALUES, MOST_INPUTS = 2_000_000, 10_000_000
# Categories that boosting takes as they are.
MOST_BOOSTED_CATEGORIES = 50

# Boosting goes on to the next of these shares of its rounds while that predicts better; with enough rows its trees are
# larger. The more trees there can be, the slower it learns.
SHARES_OF_ROUNDS = (0.125, 0.25, 0.5, 1.0)
ROWS_FOR_LARGE_TREES = 5_000
MANY_ROUNDS, SOME_ROUNDS = 200, 100

# Of two models of classes: the part of the first one, and how sure both are together.
PARTS, SCALES = np.linspace(0, 1, 11), np.linspace(0.4, 1.6, 7)


def soft_answers(
    task: Task, columns: Columns, inputs: Array, answers: Array, seed: int, weights: Array | None = None
) -> Array | None:
    """Targets (rows, outputs) to learn from; None if the answers are as good.

    A loss is linear in the answer: whoever learns from the mean answer of rows like this one learns the same, from
    less noise. Predictions of a model that has not seen the row are such a mean, as far as the model goes. So they
    count the more, the more is left unexplained, and the fewer rows there are. inputs: rows as networks see them, and
    answers (rows,) as the task encodes them. weights: of the rows, (rows,), 1 on average.
    """
    if not _can_fold(task, answers):
        return None
    shares = one_hot(task, answers)
    teacher = ClassTeacher(task.n_outputs) if isinstance(task, Classification) else NumberTeacher()
    predicted, unexplained = _Folds(teacher, columns, inputs, answers, shares, seed, weights).predict()
    n_rows = effective_rows(weights, len(answers))
    weight = MOST_WEIGHT * min(1.0, unexplained / NOISY) * min(1.0, FULL_WEIGHT_ROWS / n_rows) ** 0.5
    return (1 - weight) * shares + weight * predicted


def is_too_large(n_rows: int, n_columns: int, n_inputs: int) -> bool:
    """Whether boosting or a linear model would take too long on a table of this size."""
    return n_rows * min(n_columns, MOST_COLUMNS) > MOST_VALUES or n_rows * n_inputs > MOST_INPUTS


def one_hot(task: Task, answers: Array) -> Array:
    """Answers as numbers (rows, outputs): labels as shares."""
    return np.eye(task.n_outputs)[answers] if isinstance(task, Classification) else answers[:, None].astype(np.float64)


def _can_fold(task: Task, answers: Array) -> bool:
    """Whether every fold has two labels to learn from, or numbers that differ."""
    if not isinstance(task, Classification):
        return len(answers) >= FOLDS and bool(np.var(answers) > 0)
    return bool(np.sort(np.bincount(answers, minlength=2))[-2] >= FOLDS)


class ClassTeacher:
    """Boosting and a logistic regression; their log probabilities are weighted."""

    def __init__(self, n_labels: int) -> None:
        self.n_labels = n_labels
        self.splitter = StratifiedKFold
        self.target_type = "binary" if n_labels == 2 else "multiclass"
        # A tree is grown for each label in turn.
        self.rounds = max(40, 400 // (n_labels - 1))

    def boosting(self, **settings: Any) -> Any:
        return HistGradientBoostingClassifier(**settings)

    def linear(self) -> Any:
        return LogisticRegression(C=0.05, max_iter=200)

    def predict(self, model: Any, X: Array) -> Array:
        # A rare label may be absent from what a fold learnt from.
        proba = np.zeros((len(X), self.n_labels))
        proba[:, model.classes_] = model.predict_proba(X)
        return np.log(np.clip(proba, 1e-3, 1))

    def loss(self, guess: Array, answers: Array, weights: Array | None) -> float:
        return -float(np.average(_log_proba(guess)[np.arange(len(answers)), answers], weights=weights))

    def blend(self, boosted: Array, linear: Array, answers: Array, weights: Array | None = None) -> tuple[Array, float]:
        """Predictions (rows, labels) from two guesses (rows, labels), and the share of the entropy unexplained."""
        blends = (scale * (part * boosted + (1 - part) * linear) for part in PARTS for scale in SCALES)
        loss, found = min(((self.loss(blend, answers, weights), blend) for blend in blends), key=lambda pair: pair[0])
        counts = np.bincount(answers, weights, self.n_labels)
        frequency = counts / counts.sum()
        entropy = -(frequency * np.log(np.maximum(frequency, 1e-9))).sum()
        return np.exp(_log_proba(found)), loss / float(entropy)


def _log_proba(logits: Array) -> Array:
    top = logits.max(1, keepdims=True)
    found: Array = logits - top - np.log(np.exp(logits - top).sum(1, keepdims=True))
    return found


class NumberTeacher:
    """Boosting and a ridge regression; their predictions, differences from the mean, are weighted."""

    splitter = KFold
    target_type = "continuous"
    rounds = 400

    def boosting(self, **settings: Any) -> Any:
        return HistGradientBoostingRegressor(**settings)

    def linear(self) -> Any:
        return Ridge(20.0)

    def predict(self, model: Any, X: Array) -> Array:
        found: Array = model.predict(X)[:, None]
        return found

    def loss(self, guess: Array, answers: Array, weights: Array | None) -> float:
        return float(np.average((answers - guess[:, 0]) ** 2, weights=weights))

    def blend(self, boosted: Array, linear: Array, answers: Array, weights: Array | None = None) -> tuple[Array, float]:
        """Predictions (rows, 1) from two guesses (rows, 1), and the share of the variance unexplained."""
        guesses = np.column_stack([boosted, linear])
        root = 1.0 if weights is None else np.sqrt(weights)
        parts, _ = nnls((guesses.T * root).T, answers.astype(np.float64) * root)
        found = (guesses @ parts)[:, None]
        return found, self.loss(found, answers, weights) / _variance(answers, weights)


def _variance(values: Array, weights: Array | None) -> float:
    if weights is None:
        return float(np.var(values))
    return float(np.average((values - np.average(values, weights=weights)) ** 2, weights=weights))


@dataclass
class _Folds:
    """Folds of the rows; each is predicted by models that have learnt from the others."""

    teacher: ClassTeacher | NumberTeacher
    columns: Columns
    inputs: Array
    answers: Array
    shares: Array
    seed: int
    weights: Array | None = None

    @cached_property
    def splits(self) -> list[tuple[Array, Array]]:
        """The rows to learn from and those to predict, of each fold."""
        splitter = self.teacher.splitter(FOLDS, shuffle=True, random_state=self.seed)
        return list(splitter.split(self.columns.values, self.answers))

    def predict(self) -> tuple[Array, float]:
        """Predictions (rows, outputs) of a blend of models, and the share of entropy or variance unexplained."""
        with warnings.catch_warnings():
            # A linear model that has not converged is a guess all the same.
            warnings.simplefilter("ignore")
            linear = self._linear()
            boosted = self._boosted() if self._can_boost() else linear
            return self.teacher.blend(boosted, linear, self.answers, self.weights)

    def _can_boost(self) -> bool:
        """Whether rows are many and labels few enough, and every fold has a value to learn from."""
        if len(self.answers) < FEWEST_BOOSTED or self.shares.shape[1] > MOST_BOOSTED_LABELS:
            return False
        return all(not np.isnan(self.columns.values[train]).all() for train, _ in self.splits)

    def _linear(self) -> Array:
        found = np.zeros(self.shares.shape)
        for train, rest in self.splits:
            model = self.teacher.linear().fit(self.inputs[train], self.answers[train], self._weights_of(train))
            found[rest] = self.teacher.predict(model, self.inputs[rest])
        return found

    def _boosted(self) -> Array:
        """Guesses of boosting, after as many rounds as predict best."""
        tables = [self._table(train, rest) for train, rest in self.splits]
        models = [self._boosting(categories) for _, _, categories in tables]
        best, least = np.zeros(self.shares.shape), math.inf
        for share in SHARES_OF_ROUNDS:
            found = np.zeros(self.shares.shape)
            for model, (train, rest), (learnt, asked, _) in zip(models, self.splits, tables, strict=True):
                model.set_params(max_iter=round(share * self.teacher.rounds))
                model.fit(learnt, self.answers[train], self._weights_of(train))
                found[rest] = self.teacher.predict(model, asked)
            loss = self.teacher.loss(found, self.answers, self.weights)
            if loss >= least:
                break
            best, least = found, loss
        return best

    def _weights_of(self, rows: Array) -> Array | None:
        return None if self.weights is None else self.weights[rows]

    def _table(self, train: Array, rest: Array) -> tuple[Array, Array, Array]:
        """What boosting learns from, what it predicts, and which columns are categories."""
        columns = _kept(self.columns, train, self.shares[train], self._weights_of(train))
        return _for_boosting(columns, train, rest, self.answers[train], self.teacher.target_type)

    def _boosting(self, categories: Array) -> Any:
        rounds = self.teacher.rounds
        return self.teacher.boosting(
            learning_rate=0.05 if rounds >= MANY_ROUNDS else 0.1 if rounds >= SOME_ROUNDS else 0.2,
            max_leaf_nodes=15 if len(self.answers) < ROWS_FOR_LARGE_TREES else 31,
            l2_regularization=1.0,
            categorical_features=categories,
            early_stopping=False,
            warm_start=True,
            random_state=self.seed,
        )


def _kept(columns: Columns, rows: Array, answers: Array, weights: Array | None) -> Columns:
    """The columns that boosting learns from: of many, those that tell most in these rows."""
    if columns.values.shape[1] <= MOST_COLUMNS:
        return columns
    share = Screening.of(Columns(columns.values[rows], columns.is_category), answers, weights).share
    best = np.sort(np.argsort(-share, kind="stable")[:MOST_COLUMNS])
    return Columns(columns.values[:, best], columns.is_category[best])


def _for_boosting(
    columns: Columns, train: Array, rest: Array, answers: Array, target_type: str
) -> tuple[Array, Array, Array]:
    """Rows to learn from, rows to predict, and which columns are categories; many categories become numbers."""
    # Boosting can't take a column of which nothing is there to learn from.
    there = ~np.isnan(columns.values[train]).all(0)
    columns = Columns(columns.values[:, there], columns.is_category[there])
    values = columns.values
    n_categories = np.array([len(np.unique(v[~np.isnan(v)])) for v in values.T])
    many = columns.is_category & (n_categories > MOST_BOOSTED_CATEGORIES)
    categories = columns.is_category[~many]
    learnt, asked = values[train][:, ~many], values[rest][:, ~many]
    if many.any():
        encoder = TargetEncoder(target_type=target_type, random_state=0)
        learnt = np.column_stack([learnt, encoder.fit_transform(values[train][:, many], answers)])
        asked = np.column_stack([asked, encoder.transform(values[rest][:, many])])
        categories = np.concatenate([categories, np.zeros(learnt.shape[1] - len(categories), dtype=bool)])
    return learnt, asked, categories


def as_target(task: Task, targets: Array) -> torch.Tensor:
    """Soft answers (rows, outputs) as the task's losses take them."""
    found = torch.from_numpy(targets).float()
    return found if isinstance(task, Classification) else found[:, 0]
