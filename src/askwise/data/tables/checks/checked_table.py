"""The table that checks look at: labelled rows, their answers, and what options say about columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from askwise.core.arrays import Array
from askwise.core.errors import AskwiseError, listed, shortened, unknown_name
from askwise.data.tables.checks.row_hashes import row_hashes, value_hashes
from askwise.data.tables.column import Column

# Enough rows to see what a column holds.
LOOK_ROWS = 1000


@dataclass(frozen=True, eq=False)
class CheckedTable:
    """Rows that have an answer.

    X: the columns without the target and the column to split by; y: the answers; has_classes: whether they are labels;
    n_unlabelled: rows without an answer, left out here; split_by: whether rows are kept together by a column;
    wanted: columns that options name, which are asked whatever they hold; codes: columns whose numbers are codes of
    categories; limited: columns for which questions set limits; groups: columns that are asked together, by the name of
    the group; free: columns that are never asked.
    """

    X: pd.DataFrame
    y: pd.Series[Any]
    has_classes: bool
    n_unlabelled: int = 0
    split_by: bool = False
    wanted: AbstractSet[str] = frozenset()
    codes: AbstractSet[str] = frozenset()
    limited: Sequence[Column] = ()
    groups: Mapping[str, Sequence[str]] = field(default_factory=dict)
    free: AbstractSet[str] = frozenset()

    @property
    def target(self) -> str:
        return str(self.y.name)

    @cached_property
    def look(self) -> pd.DataFrame:
        """A sample of the rows, in their order."""
        if len(self.X) <= LOOK_ROWS:
            return self.X
        rows = np.random.default_rng(0).choice(len(self.X), LOOK_ROWS, replace=False)
        return self.X.iloc[np.sort(rows)]

    @cached_property
    def is_copy(self) -> Array:
        """Which rows are the same as an earlier one, in all columns and in the answer."""
        columns = [*(self.X[name] for name in self.X.columns), self.y]
        return pd.Series(row_hashes([value_hashes(values) for values in columns])).duplicated().to_numpy()

    def without(self, columns: AbstractSet[str]) -> CheckedTable:
        """Return the table without some columns."""
        return replace(self, X=self.X[[name for name in self.X.columns if name not in columns]]) if columns else self


def checked_table(
    frame: pd.DataFrame,
    target: str,
    *,
    has_classes: bool,
    split_by: str | None = None,
) -> CheckedTable:
    """Split off the target and the column to split by; rows without an answer are left out."""
    frame = frame.set_axis([str(name) for name in frame.columns], axis=1)
    twice = sorted(frame.columns[frame.columns.duplicated()])
    if twice:
        raise AskwiseError(f"columns must have different names; given twice: {listed(twice)}")
    for what, name in (("target", target), ("column in split_by:", split_by)):
        if name is not None and name not in frame.columns:
            raise unknown_name(what, name, frame.columns)
    labelled = frame[target].notna().to_numpy()
    if not labelled.any():
        raise AskwiseError(f"the target {target!r} has no value in any row")
    rows = frame if labelled.all() else frame[labelled]
    _check_cells(rows)
    dropped = {target} if split_by is None else {target, split_by}
    X, y = rows.drop(columns=list(dropped)).infer_objects(), rows[target].infer_objects()
    if not has_classes and not pd.api.types.is_numeric_dtype(y.dtype):
        raise AskwiseError(f"the target must be numbers to predict a number; it holds {shortened(y.iloc[0])}")
    n_unlabelled = int((~labelled).sum())
    return CheckedTable(X, y, has_classes, n_unlabelled, split_by is not None)


def _check_cells(frame: pd.DataFrame) -> None:
    """Raise an error for columns of lists, which Parquet allows."""
    for name in frame.columns:
        if frame[name].dtype != object:
            continue
        value = next(iter(frame[name].dropna()), None)
        if isinstance(value, (list, dict, set, np.ndarray)):
            raise AskwiseError(
                f"column {name!r} holds values of the type {type(value).__name__}; a cell holds a number, a text, or "
                "yes or no. Leave it out, or make a column of each part"
            )
