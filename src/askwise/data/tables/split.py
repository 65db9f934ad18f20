"""Holding rows out for validation."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit, StratifiedGroupKFold, StratifiedShuffleSplit

from askwise.core.arrays import Array
from askwise.core.errors import AskwiseError


def hold_out(y: Array, fraction: float, seed: int, stratify: bool, by: Array | None = None) -> tuple[Array, Array]:
    """Row numbers to train on and to validate on: stratified by class, or keeping rows with the same `by` together."""
    n = len(y)
    if not 0 < fraction < 1:
        raise AskwiseError(f"validation_fraction must lie between 0 and 1, was given {fraction!r}")
    if n < 2:
        raise AskwiseError(f"n_samples={n}: at least 2 rows are needed, to train on one and validate on another")
    if by is not None:
        return _by_person(y, by, fraction, seed, stratify)
    n_val = min(n - 1, max(1, round(fraction * n)))
    classes, counts = np.unique(y, return_counts=True) if stratify else (np.empty(0), np.empty(0))
    can_stratify = stratify and counts.min() >= 2 and n_val >= len(classes) and n - n_val >= len(classes)
    splitter = (StratifiedShuffleSplit if can_stratify else ShuffleSplit)(1, test_size=n_val, random_state=seed)
    train, val = next(splitter.split(np.zeros(n), y))
    if stratify and not can_stratify:
        train, val = _bring_over(train, val, ~np.isin(y[val], y[train]))
    return train, val


def of_kept_rows(split_by: Any, n_kept: int, kept: Array | None) -> Array:
    """The values of the rows that were kept. kept: whether each row that was given was, or None if all were."""
    values = np.asarray(split_by)
    _check_length(values, n_kept if kept is None else len(kept))
    return values if kept is None else values[kept]


def _check_length(by: Array, n_rows: int) -> None:
    if by.shape[:1] != (n_rows,):
        raise AskwiseError(f"split_by has {by.size} values for {n_rows} rows; give one for each row")


def _bring_over(train: Array, val: Array, lost: Array) -> tuple[Array, Array]:
    """A class seen only in validation could never be learnt: its rows go over to training."""
    train, val = np.concatenate([train, val[lost]]), val[~lost]
    return train, val if len(val) else train


def _by_person(y: Array, by: Array, fraction: float, seed: int, stratify: bool) -> tuple[Array, Array]:
    n = len(y)
    _check_length(by, n)
    if pd.isna(by).any():
        raise AskwiseError(f"split_by is missing in {int(pd.isna(by).sum())} rows; give a value for each row")
    _, person = np.unique(by.astype(str) if by.dtype == object else by, return_inverse=True)
    if person.max() == 0:
        raise AskwiseError("split_by has one value in all rows; at least two are needed to hold some out")
    folds = max(2, min(round(1 / fraction), int(person.max()) + 1))
    if stratify:
        with warnings.catch_warnings():
            # A class smaller than the number of folds is no news: it may all belong to one person.
            warnings.simplefilter("ignore")
            splitter = StratifiedGroupKFold(folds, shuffle=True, random_state=seed)
            train, val = next(splitter.split(np.zeros(n), y, person))
    else:
        train, val = next(GroupShuffleSplit(1, test_size=fraction, random_state=seed).split(np.zeros(n), groups=person))
    lost = ~np.isin(y[val], y[train]) if stratify else np.zeros(len(val), dtype=bool)
    return _bring_over(train, val, np.isin(person[val], person[val][lost]))
