"""What can be asked: groups of columns with a cost."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    import torch
    from torch import Tensor


@lru_cache(maxsize=256)
def index_of(positions: tuple[int, ...], device: torch.device) -> Tensor:
    """Positions as a tensor on a device, which is made once: a CUDA graph can't record that it is made from a list."""
    import torch

    return torch.tensor(positions, dtype=torch.int64, device=device)


@dataclass(frozen=True)
class FeatureSpace:
    """Names and costs of the groups, and which columns and input entries each group reveals.

    A *group* is what is asked and paid for. It holds one or more *columns* (presence is per column), and a column
    holds one or more *entries* of the network's input (a category's one-hot entries). Columns of group -1 are free:
    known from the start, never asked. costs: while nothing is known; `SharedCosts` where groups share some of them.
    """

    # Rows that keep a GPU busy.
    most_on_gpu: ClassVar[int] = 16384

    names: tuple[str, ...]
    costs: tuple[float, ...]
    group_of_column: tuple[int, ...]
    column_of_entry: tuple[int, ...]
    # Of each entry, the rising edges between which its parts lie; none for an entry without parts.
    edges: tuple[tuple[float, ...], ...] = field(default=(), kw_only=True)
    # Columns that only say whether another one of their group is there: an answer even if nothing can be had.
    presence_columns: tuple[int, ...] = field(default=(), kw_only=True)

    @property
    def n_groups(self) -> int:
        return len(self.names)

    @property
    def n_columns(self) -> int:
        return len(self.group_of_column)

    @property
    def n_entries(self) -> int:
        return len(self.column_of_entry)

    @property
    def n_inputs(self) -> int:
        """What a network on (x, mask) sees."""
        return self.n_entries + self.n_columns + self.n_parts

    @cached_property
    def n_parts(self) -> int:
        """How many parts all entries have together."""
        return sum(map(len, self.part_positions.values()))

    @cached_property
    def column_of_part(self) -> tuple[int, ...]:
        """The column of each part, in the order of a network's inputs."""
        return tuple(self.column_of_entry[entry] for entry, places in self.part_positions.items() for _ in places)

    @cached_property
    def part_positions(self) -> dict[int, range]:
        """Where the parts of each entry that has some lie among a network's inputs: after entries and mask."""
        start, found = self.n_entries + self.n_columns, {}
        for entry, edges in enumerate(self.edges):
            if edges:
                found[entry] = range(start, start + len(edges) - 1)
                start += len(edges) - 1
        return found

    def rows_at_once(self, device: torch.device) -> int:
        """How many rows to compute at a time: as many as a CPU's cache holds, or as keep a GPU busy."""
        most, most_entries = (1024, 2**22) if device.type == "cpu" else (self.most_on_gpu, 2**25)
        return max(16, min(most, most_entries // self.n_entries))

    def in_order(self, costs: Any) -> Any:
        """Costs as given; a space whose costs may come in another layout flattens them."""
        return costs

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
    def _own_columns(self) -> tuple[tuple[int, ...], ...]:
        """The columns of each group, but for those that say whether another one is there."""
        return tuple(tuple(c for c in columns if c not in self.presence_columns) for columns in self.members)

    @cached_property
    def column_of_group(self) -> tuple[int, ...] | None:
        """The only column of each group, beside those that say whether it is there; None if one has several."""
        own = self._own_columns
        return tuple(columns[0] for columns in own) if all(len(columns) == 1 for columns in own) else None

    @cached_property
    def has_free_columns(self) -> bool:
        return any(group < 0 for group in self.group_of_column)

    @cached_property
    def entries_are_columns(self) -> bool:
        return self.column_of_entry == tuple(range(self.n_columns))

    def available(self, present: Tensor) -> Tensor:
        """Which groups can be asked, (rows, groups): those with at least one present column, from (rows, columns)."""
        return self._any_of(present, range(self.n_columns)) if self.presence_columns else self.recorded(present)

    def recorded(self, present: Tensor) -> Tensor:
        """Which groups tell more than that they can't be had, (rows, groups), from present columns (rows, columns)."""
        if self.columns_are_groups:
            return present
        if self.column_of_group is not None:
            # On a CPU, gather takes a quarter of the time of index_select.
            return present.gather(1, index_of(self.column_of_group, present.device).expand(len(present), -1))
        return self._any_of(present, [column for columns in self._own_columns for column in columns])

    def _any_of(self, present: Tensor, columns: Iterable[int]) -> Tensor:
        """The groups with at least one present column among these."""
        found = present.new_zeros(len(present), self.n_groups)
        for column in columns:
            if (group := self.group_of_column[column]) >= 0:
                found[:, group] |= present[:, column]
        return found
