"""Weights of rows: checked as they come in, scaled to a mean of 1, and how many equal rows they are worth."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from askwise.core.arrays import Array
from askwise.core.errors import AskwiseError, shortened

WANTED = "give one number for each row, at least 0"


def _by_position(row: int) -> str:
    return f"row {row}"


def check_row_weights(
    given: Any, n_rows: int, name: str = "sample_weight", row_name: Callable[[int], str] = _by_position
) -> Array | None:
    """The weights (rows,) as float64, or an error that tells what is wrong; None, which is all equal, stays None.

    row_name: what errors call the row at a position, such as the line of its file.
    """
    if given is None:
        return None
    weights = _numbers(given, name, row_name)
    if weights.ndim != 1:
        shape = f"shape {weights.shape}" if weights.ndim else repr(given)
        raise AskwiseError(f"{name} must be 1D, a list or column of weights, was given {shape}; {WANTED}")
    if len(weights) != n_rows:
        raise AskwiseError(f"{name} has {len(weights)} weights for {n_rows} rows; {WANTED}")
    for is_wrong, what in ((~np.isfinite(weights), "missing or not finite"), (weights < 0, "negative")):
        if is_wrong.any():
            row = int(is_wrong.argmax())
            count = "1 row" if is_wrong.sum() == 1 else f"{is_wrong.sum()} rows"
            raise AskwiseError(f"{name} is {what} in {count}, first in {row_name(row)} ({weights[row]:g}); {WANTED}")
    if n_rows and not (weights > 0).any():
        raise AskwiseError(f"{name} is zero in all {n_rows} rows, which leaves none; some must be above 0")
    return weights


def _numbers(given: Any, name: str, row_name: Callable[[int], str]) -> Array:
    try:
        return np.asarray(given.to_numpy(na_value=np.nan) if hasattr(given, "to_numpy") else given, dtype=np.float64)
    except (TypeError, ValueError):
        texts = ((row, one) for row, one in enumerate(given) if not _is_numeric(one))
        row, first = next(texts, (None, given))
        where = "" if row is None else f" in {row_name(row)}"
        raise AskwiseError(f"{name} must hold numbers, it holds {shortened(first)}{where}; {WANTED}") from None


def _is_numeric(value: Any) -> bool:
    """Whether a value is a number, or the text of one."""
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def scaled_to_mean_1(weights: Array | None) -> Array | None:
    """Weights with a mean of 1; None if all are equal, so that these change nothing."""
    if weights is None or not len(weights) or (weights == weights[0]).all():
        return None
    # By the largest first: a sum of huge weights may be no finite number.
    relative = weights / weights.max()
    return relative / relative.mean()


def effective_rows(weights: Array | None, n_rows: int) -> float:
    """How many rows of equal weight tell a mean as precisely (Kish): the squared sum over the sum of squares."""
    if weights is None or not n_rows:
        return float(n_rows)
    relative = weights / weights.max()
    return float(relative.sum() ** 2 / (relative**2).sum())


def worth_text(weights: Array) -> str:
    """Say that rows count by their weights, and how many equal rows they are worth."""
    return f"counted by weights, worth {effective_rows(weights, len(weights)):,.0f} equal ones (Kish)"


def rows_in_proportion(weights: Array, count: int) -> Array:
    """`count` row numbers, evenly spread, in which each row appears in proportion to its weight."""
    ends = np.cumsum(weights)
    return np.searchsorted(ends, (np.arange(count) + 0.5) / count * ends[-1], side="right").clip(max=len(weights) - 1)
