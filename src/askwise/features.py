"""What can be asked: groups of columns with a cost, and the rows they are asked of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor


@dataclass(frozen=True)
class FeatureSpace:
    """Names and costs of the groups, and which columns and input entries each group reveals.

    A *group* is what is asked and paid for. It holds one or more *columns* (presence is per column), and a column
    holds one or more *entries* of the network's input (a category's one-hot entries). Columns of group -1 are free:
    known from the start, never asked.
    """

    names: tuple[str, ...]
    costs: tuple[float, ...]
    group_of_column: tuple[int, ...]
    column_of_entry: tuple[int, ...]

    @property
    def n_groups(self) -> int:
        return len(self.names)

    @property
    def n_columns(self) -> int:
        return len(self.group_of_column)

    @property
    def n_entries(self) -> int:
        return len(self.column_of_entry)

    @cached_property
    def position(self) -> dict[str, int]:
        """The number of each group."""
        return {name: g for g, name in enumerate(self.names)}

    @cached_property
    def members(self) -> tuple[tuple[int, ...], ...]:
        """The columns of each group."""
        found: list[list[int]] = [[] for _ in self.names]
        for column, group in enumerate(self.group_of_column):
            if group >= 0:
                found[group].append(column)
        return tuple(tuple(columns) for columns in found)

    @cached_property
    def columns_are_groups(self) -> bool:
        """Whether every column is its own group, in order, so that no gather is needed."""
        return self.group_of_column == tuple(range(self.n_groups))

    @cached_property
    def entries_are_columns(self) -> bool:
        return self.column_of_entry == tuple(range(self.n_columns))

    def available(self, present: Tensor) -> Tensor:
        """Which groups can be had, (rows, groups): those with at least one present column, from (rows, columns)."""
        if self.columns_are_groups:
            return present
        available = torch.zeros(len(present), self.n_groups, dtype=torch.bool, device=present.device)
        for column, group in enumerate(self.group_of_column):
            if group >= 0:
                available[:, group] |= present[:, column]
        return available


@dataclass(frozen=True)
class Rows:
    """Encoded rows: inputs x (rows, entries; 0 where absent), present (rows, columns), available (rows, groups), y."""

    x: Tensor
    present: Tensor
    available: Tensor
    y: Tensor | None = None

    def __len__(self) -> int:
        return len(self.x)

    def take(self, index: Tensor | slice) -> Rows:
        y = None if self.y is None else self.y[index]
        available = self.present[index] if self.available is self.present else self.available[index]
        return Rows(self.x[index], self.present[index], available, y)

    def to(self, device: torch.device | str, dtype: torch.dtype | None = None) -> Rows:
        y = None if self.y is None else self.y.to(device)
        if y is not None and dtype is not None and y.is_floating_point():
            y = y.to(dtype)
        present = self.present.to(device)
        available = present if self.available is self.present else self.available.to(device)
        return Rows(self.x.to(device, dtype), present, available, y)

    def batches(self, size: int) -> Sequence[Rows]:
        return [self.take(slice(start, start + size)) for start in range(0, len(self), size)]


def evenly(n: int, most: int) -> Tensor:
    """Positions of at most `most` of n rows, evenly spread from the first to the last."""
    count = min(n, most)
    # In whole numbers: a rounding error of floats would name some rows twice, and skip others.
    return torch.arange(count) * (n - 1) // max(count - 1, 1)
