"""How well each column alone predicts the answer, out of sample: AUROC for classes, R² for a number."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from askwise.core.arrays import Array
from askwise.data.tables.checks.checked_table import CheckedTable
from askwise.data.tables.checks.numbers import holds_numbers, numbers_of

# Rows that are looked at, and at least so many of each class where there are.
SCORED_ROWS, ROWS_OF_A_CLASS = 2000, 100
# Of more classes, only the most frequent are told apart.
MOST_SCORED_CLASSES = 20
FEWEST_ROWS, FEWEST_OF_A_CLASS = 30, 5
N_FOLDS = 3


def one_column_scores(table: CheckedTable) -> dict[str, float]:
    """Return the score of each column on a sample of rows; a column with too few values has none."""
    answers, classes = _coded(table)
    rows = _sampled(answers, classes)
    shares = np.bincount(answers[answers >= 0]) if classes else None
    answers, frame = answers[rows], table.X.iloc[rows]
    scores = {}
    for name in table.X.columns:
        values = frame[name]
        known = values.notna().to_numpy()
        # What is missing may tell the answer too; or only the rows that have a value do.
        parts = [np.ones(len(known), dtype=bool)] + ([known] if not known.all() else [])
        found = [_score(values[part], answers[part], shares) for part in parts if _is_enough(answers[part], classes)]
        if found:
            scores[str(name)] = max(found)
    return scores


def _coded(table: CheckedTable) -> tuple[Array, bool]:
    """Return answers as numbers; classes as 0, 1, ... by frequency, and -1 for rare ones of very many."""
    if not table.has_classes:
        return numbers_of(table.y), False
    order = table.y.value_counts().index[:MOST_SCORED_CLASSES]
    return pd.Index(order).get_indexer(pd.Index(table.y)), True


def _sampled(answers: Array, classes: bool) -> Array:
    """Return numbers of rows to score: a sample, with rows of rare classes added."""
    rng = np.random.default_rng(0)
    rows = rng.permutation(np.flatnonzero(answers >= 0) if classes else len(answers))
    if not classes or len(rows) <= SCORED_ROWS:
        return rows[:SCORED_ROWS]
    of_class = [rows[answers[rows] == label][:ROWS_OF_A_CLASS] for label in np.unique(answers[rows])]
    return np.unique(np.concatenate([rows[:SCORED_ROWS], *of_class]))


def _is_enough(answers: Array, classes: bool) -> bool:
    if not classes:
        return len(answers) >= FEWEST_ROWS and answers.std() > 0
    counts = np.bincount(answers)
    return len(answers) >= FEWEST_ROWS and (counts >= FEWEST_OF_A_CLASS).sum() >= 2


def _score(values: pd.Series[Any], answers: Array, shares: Array | None) -> float:
    """Return the best score of a monotone reading of the column and of a small model, cross-validated."""
    numbers = numbers_of(values) if holds_numbers(values) else None
    if numbers is not None and np.isinf(numbers).any():
        return 0.0
    whole = numbers is not None and not np.isnan(numbers).any()
    targets = answers[:, None].astype(float) if shares is None else np.eye(len(shares))[answers]
    folds = _folds(answers, shares is not None)
    predicted = _tree(numbers, answers, targets, folds) if numbers is not None else _means(values, targets, folds)
    if shares is None:
        monotone = _monotone_r2(numbers, answers) if whole and numbers is not None else 0.0
        return max(monotone, _r2(predicted[:, 0], answers))
    there = [c for c in np.unique(answers) if 0 < (answers == c).sum() < len(answers)]
    score = float(np.average([_auroc(predicted[:, c], answers == c) for c in there], weights=shares[there]))
    if len(there) == 2 and whole and numbers is not None:
        auroc = _auroc(numbers, answers == there[1])
        score = max(score, auroc, 1 - auroc)
    return score


def _folds(answers: Array, classes: bool) -> Array:
    """Return the fold of each row; each class is spread over all folds."""
    order = np.argsort(answers, kind="stable") if classes else np.arange(len(answers))
    folds = np.empty(len(answers), dtype=int)
    folds[order] = np.arange(len(answers)) % N_FOLDS
    return folds


def _tree(numbers: Array, answers: Array, targets: Array, folds: Array) -> Array:
    """Return out-of-fold predictions of a small tree."""
    predicted = np.zeros(targets.shape)
    for fold in range(N_FOLDS):
        fitted, held_out = folds != fold, folds == fold
        if targets.shape[1] > 1:
            tree = DecisionTreeClassifier(max_leaf_nodes=max(8, 2 * targets.shape[1]), random_state=0)
            tree.fit(numbers[fitted, None], answers[fitted])
            predicted[np.ix_(held_out, tree.classes_)] = tree.predict_proba(numbers[held_out, None])
        else:
            tree = DecisionTreeRegressor(max_leaf_nodes=64, min_samples_leaf=2, random_state=0)
            predicted[held_out, 0] = tree.fit(numbers[fitted, None], answers[fitted]).predict(numbers[held_out, None])
    return predicted


def _means(values: pd.Series[Any], targets: Array, folds: Array) -> Array:
    """Return for each row the mean target of the other folds' rows with the same text; a missing one is a text too."""
    codes = pd.factorize(values.astype(object).where(values.notna(), None))[0] + 1
    predicted = np.zeros(targets.shape)
    for fold in range(N_FOLDS):
        fitted, held_out = folds != fold, folds == fold
        counts = np.bincount(codes[fitted], minlength=codes.max() + 1)[:, None]
        sums = np.zeros((len(counts), targets.shape[1]))
        np.add.at(sums, codes[fitted], targets[fitted])
        # A text that the other folds have not, or seldom, is drawn to the overall mean.
        means = (sums + targets[fitted].mean(0)) / (counts + 1)
        predicted[held_out] = means[codes[held_out]]
    return predicted


def _auroc(scores: Array, positive: Array) -> float:
    ranks = rankdata(scores)
    n_positive, n_negative = positive.sum(), (~positive).sum()
    return float((ranks[positive].sum() - n_positive * (n_positive + 1) / 2) / (n_positive * n_negative))


def _r2(predicted: Array, answers: Array) -> float:
    return float(1 - ((answers - predicted) ** 2).mean() / answers.var())


def _monotone_r2(numbers: Array, answers: Array) -> float:
    """Return the squared correlation of values or of ranks, whichever is larger."""
    if numbers.min() == numbers.max():
        return 0.0
    pairs = [(numbers, answers), (rankdata(numbers), rankdata(answers))]
    return max(float(np.corrcoef(x, y)[0, 1] ** 2) for x, y in pairs)
