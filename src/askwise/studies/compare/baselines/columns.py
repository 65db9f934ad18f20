"""A table as scikit-learn's models take it: numbers, texts, and what is missing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from askwise.core.arrays import Array
from askwise.core.prices import Prices
from askwise.data.tables.column import CATEGORY, category_key
from askwise.data.tables.schema import Schema


@dataclass(frozen=True, eq=False)
class Cases:
    """Rows of a table, one column for each of the schema, called by its position.

    frame: float64 with NaN if a value is missing, or texts (object) with NaN if one is missing.
    members: the columns of each group; prices: of the groups.
    """

    frame: pd.DataFrame
    members: tuple[tuple[int, ...], ...]
    prices: Prices

    @staticmethod
    def of(schema: Schema, X: pd.DataFrame) -> Cases:
        """Read rows. Texts stay whole: rare ones, which networks do not see, are kept."""
        rows = schema.encode(X)
        x, present = rows.x.double().numpy(), rows.present.numpy()
        first = np.searchsorted(schema.space.column_of_entry, np.arange(len(schema.columns)))
        columns: dict[int, Any] = {}
        for c, column in enumerate(schema.columns):
            if column.kind == CATEGORY:
                columns[c] = _texts(X.iloc[:, c])
            else:
                columns[c] = np.where(present[:, c], x[:, first[c]], np.nan)
        return Cases(pd.DataFrame(columns), schema.space.members, Prices.array(schema.space.costs))

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def n_groups(self) -> int:
        return len(self.members)

    @property
    def available(self) -> Array:
        """Which groups can be had in each row, (rows, groups): those with a value in any of their columns."""
        there = self.frame.notna().to_numpy()
        return np.stack([there[:, list(columns)].any(1) for columns in self.members], axis=1)

    def knowing(self, known: Array) -> pd.DataFrame:
        """The rows with only these groups known, (rows, groups), and the free columns."""
        frame = self.frame.copy()
        for group, columns in enumerate(self.members):
            for c in columns:
                frame[c] = frame[c].where(known[:, group])
        return frame


def with_values(frame: pd.DataFrame) -> list[int]:
    """The columns that have a value in any row."""
    return [int(c) for c in frame.columns[frame.notna().any().to_numpy()]]


def texts_among(frame: pd.DataFrame, columns: Iterable[int]) -> list[int]:
    """Those of the columns that hold texts."""
    return [c for c in columns if not pd.api.types.is_numeric_dtype(frame[c].dtype)]


def _texts(series: pd.Series[Any]) -> pd.Series[Any]:
    """Every value as the text of its category, NaN if it is missing."""
    missing = series.isna().to_numpy()
    found = np.full(len(series), np.nan, dtype=object)
    found[~missing] = [category_key(value) for value in series[~missing]]
    return pd.Series(found, dtype=object)
