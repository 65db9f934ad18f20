"""Holding rows out for validation."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit, StratifiedShuffleSplit

from askwise.errors import AskwiseError

Array = np.ndarray[Any, Any]


def hold_out(y: Array, fraction: float, seed: int, stratify: bool, by: Array | None = None) -> tuple[Array, Array]:
    """Row numbers to train on and to validate on: stratified by class, or keeping rows with the same `by` together."""
    n = len(y)
    if not 0 < fraction < 1:
        raise AskwiseError(f"validation_fraction must lie between 0 and 1, was given {fraction!r}")
    if n < 2:
        raise AskwiseError(f"n_samples={n}: at least 2 rows are needed, to train on one and validate on another")
    if by is not None:
        return _by_person(by, n, fraction, seed)
    n_val = min(n - 1, max(1, round(fraction * n)))
    classes, counts = np.unique(y, return_counts=True) if stratify else (np.empty(0), np.empty(0))
    can_stratify = stratify and counts.min() >= 2 and n_val >= len(classes) and n - n_val >= len(classes)
    splitter = (StratifiedShuffleSplit if can_stratify else ShuffleSplit)(1, test_size=n_val, random_state=seed)
    train, val = next(splitter.split(np.zeros(n), y))
    if stratify and not can_stratify:
        # A class seen only in validation could never be learnt: bring its rows over to training.
        lost = ~np.isin(y[val], y[train])
        train, val = np.concatenate([train, val[lost]]), val[~lost]
        if not len(val):
            val = train
    return train, val


def _by_person(by: Array, n: int, fraction: float, seed: int) -> tuple[Array, Array]:
    if len(by) != n:
        raise AskwiseError(f"split_by has {len(by)} values for {n} rows; give one for each row")
    if len(np.unique(by)) < 2:
        raise AskwiseError("split_by has one value in all rows; at least two are needed to hold some out")
    splitter = GroupShuffleSplit(1, test_size=fraction, random_state=seed)
    train, val = next(splitter.split(np.zeros(n), groups=by))
    return train, val
