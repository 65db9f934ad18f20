"""Answers to learn from, less noisy than those of the table: mixed with what other models predict out of fold."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch
from scipy.optimize import nnls
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.preprocessing import TargetEncoder

from askwise.core.arrays import Array
from askwise.core.tasks import Classification, Task
from askwise.methods.screening import Columns, Screening

FOLDS = 5
# Half of the target is the teacher's at most.
MOST_WEIGHT = 0.5
# Up to so many rows; with more, answers speak for themselves.
FULL_WEIGHT_ROWS, MOST_ROWS = 5_000, 25_000
# The share of the answer's entropy or variance left unexplained from which on answers are taken for noisy.
NOISY = 0.25
# Boosting learns from so many columns at most: those that tell most by themselves.
MOST_COLUMNS = 100
# With fewer rows, boosting finds nothing that a line does not; with more labels it takes too long.
FEWEST_BOOSTED, MOST_BOOSTED_LABELS = 400, 20
# Of a larger table of inputs, a linear model would take too long.
MOST_NUMBERS = 50_000_000
# Categories that boosting takes as they are.
MOST_BOOSTED_CATEGORIES = 50

# Of two models of classes: the part of the first one, and how sure both are together.
PARTS, SCALES = np.linspace(0, 1, 11), np.linspace(0.4, 1.6, 7)


def soft_answers(task: Task, columns: Columns, inputs: Array, answers: Array, seed: int) -> Array | None:
    """Targets (rows, outputs) to learn from; None if the answers are as good.

    A loss is linear in the answer: whoever learns from the mean answer of rows like this one learns the same, from
    less noise. Predictions of a model that has not seen the row are such a mean, as far as the model goes. So they
    count the more, the more is left unexplained, and the fewer rows there are. inputs: rows as networks see them, and
    answers (rows,) as the task encodes them.
    """
    n = len(answers)
    weight = MOST_WEIGHT * min(1.0, FULL_WEIGHT_ROWS / n)
    if n > MOST_ROWS or inputs.size > MOST_NUMBERS or not _can_fold(task, answers):
        return None
    shares = one_hot(task, answers)
    teacher = ClassTeacher(task.n_outputs) if isinstance(task, Classification) else NumberTeacher()
    guesses = _out_of_fold(teacher, columns, inputs, answers, shares, seed)
    predicted, unexplained = teacher.blend(guesses, answers)
    weight *= min(1.0, unexplained / NOISY)
    return (1 - weight) * shares + weight * predicted


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

    def boosting(self, categories: Array, seed: int) -> Any:
        # A tree is grown for each label in turn.
        rounds = max(30, 200 // self.n_labels)
        settings = _boosting_settings(categories, seed)
        return HistGradientBoostingClassifier(max_iter=rounds, learning_rate=10 / rounds, **settings)

    def linear(self) -> Any:
        return LogisticRegression(C=0.05, max_iter=200)

    def predict(self, model: Any, X: Array) -> Array:
        # A rare label may be absent from what a fold learnt from.
        proba = np.zeros((len(X), self.n_labels))
        proba[:, model.classes_] = model.predict_proba(X)
        return np.log(np.clip(proba, 1e-3, 1))

    def blend(self, guesses: Array, answers: Array) -> tuple[Array, float]:
        """Predictions (rows, labels) from guesses (models, rows, labels), and the share of entropy unexplained."""
        here = np.arange(len(answers))

        def log_proba(weights: Array) -> Array:
            logits = np.tensordot(weights, guesses, 1)
            top = logits.max(1, keepdims=True)
            found: Array = logits - top - np.log(np.exp(logits - top).sum(1, keepdims=True))
            return found

        def loss(weights: Array) -> float:
            return -float(log_proba(weights)[here, answers].mean())

        found = min((scale * np.array([part, 1 - part]) for part in PARTS for scale in SCALES), key=loss)
        frequency = np.bincount(answers, minlength=self.n_labels) / len(answers)
        entropy = -(frequency * np.log(np.maximum(frequency, 1e-9))).sum()
        return np.exp(log_proba(found)), loss(found) / float(entropy)


class NumberTeacher:
    """Boosting and a ridge regression; their predictions, differences from the mean, are weighted."""

    splitter = KFold
    target_type = "continuous"

    def boosting(self, categories: Array, seed: int) -> Any:
        return HistGradientBoostingRegressor(**_boosting_settings(categories, seed))

    def linear(self) -> Any:
        return Ridge(20.0)

    def predict(self, model: Any, X: Array) -> Array:
        found: Array = model.predict(X)[:, None]
        return found

    def blend(self, guesses: Array, answers: Array) -> tuple[Array, float]:
        """Predictions (rows, 1) from guesses (models, rows, 1), and the share of variance unexplained."""
        weights, _ = nnls(guesses[..., 0].T, answers.astype(np.float64))
        found = np.tensordot(weights, guesses, 1)
        return found, float(((answers - found[:, 0]) ** 2).mean() / np.var(answers))


def _boosting_settings(categories: Array, seed: int) -> dict[str, Any]:
    return {
        "max_leaf_nodes": 15,
        "l2_regularization": 1.0,
        "categorical_features": categories,
        "early_stopping": False,
        "random_state": seed,
    }


def _out_of_fold(
    teacher: ClassTeacher | NumberTeacher,
    columns: Columns,
    inputs: Array,
    answers: Array,
    shares: Array,
    seed: int,
) -> Array:
    """Guesses of boosting and of a linear model, (2, rows, outputs), each row by models that have not seen it."""
    found = np.zeros((2, *shares.shape))
    with warnings.catch_warnings():
        # A linear model that has not converged is a guess all the same.
        warnings.simplefilter("ignore")
        for train, rest in teacher.splitter(FOLDS, shuffle=True, random_state=seed).split(columns.values, answers):
            linear = teacher.linear().fit(inputs[train], answers[train])
            found[:, rest] = teacher.predict(linear, inputs[rest])
            if len(answers) >= FEWEST_BOOSTED and shares.shape[1] <= MOST_BOOSTED_LABELS:
                kept = _kept(columns, train, shares[train])
                learnt, asked, categories = _for_boosting(kept, train, rest, answers[train], teacher.target_type)
                boosting = teacher.boosting(categories, seed).fit(learnt, answers[train])
                found[0, rest] = teacher.predict(boosting, asked)
    return found


def _kept(columns: Columns, rows: Array, answers: Array) -> Columns:
    """The columns that boosting learns from: of many, those that tell most in these rows."""
    if columns.values.shape[1] <= MOST_COLUMNS:
        return columns
    share = Screening.of(Columns(columns.values[rows], columns.is_category), answers).share
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
