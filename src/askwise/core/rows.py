"""Encoded rows, and sources of rows that hand out batches."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import torch
from torch import Tensor

from askwise.core.arrays import Array


class RowSource(Protocol):
    """Rows to learn from, handed out in batches in shuffled order. Rows in memory are one kind."""

    def __len__(self) -> int: ...

    def shuffled_batches(self, n_batches: int, size: int, device: torch.device) -> Iterator[tuple[Rows, Tensor]]:
        """An epoch: so many batches of exactly `size` rows on a device, and the rows' weights (size,); 0 is padding."""
        ...

    def in_memory(self) -> Rows:
        """All rows at once, for methods that need them; raises if they do not fit."""
        ...


@dataclass(frozen=True)
class Rows:
    """Encoded rows: inputs x (rows, entries; 0 where absent), present (rows, columns), available (rows, groups), y.

    soft_y: what to learn from instead of y, if that is not the same: (rows, labels) shares of the labels, or numbers.
    weight: how much each row counts, (rows,), 1 on average; None if all count the same. tries: whether available groups
    may turn out to be absent; what is asked in vain costs nothing.
    """

    x: Tensor
    present: Tensor
    available: Tensor
    y: Tensor | None = None
    soft_y: Tensor | None = None
    weight: Tensor | None = None
    tries: bool = False

    @property
    def target(self) -> Tensor:
        """What a loss of training compares outputs with."""
        found = self.y if self.soft_y is None else self.soft_y
        assert found is not None
        return found

    @property
    def row_weight(self) -> Tensor:
        """How much each row counts, (rows,)."""
        return torch.ones(len(self), device=self.x.device) if self.weight is None else self.weight

    def with_weight(self, weights: Array | None) -> Rows:
        """The same rows with these weights, (rows,); None: all count the same."""
        return replace(self, weight=None if weights is None else torch.tensor(weights))

    def __len__(self) -> int:
        return len(self.x)

    def map_tensors(self, change: Callable[[Tensor], Tensor]) -> Rows:
        """Apply a function to every tensor; if availability is presence, one tensor stays both."""
        present = change(self.present)
        available = present if self.available is self.present else change(self.available)
        y, soft_y, weight = (None if part is None else change(part) for part in (self.y, self.soft_y, self.weight))
        return Rows(change(self.x), present, available, y, soft_y, weight, self.tries)

    def take(self, index: Tensor | slice) -> Rows:
        return self.map_tensors(lambda part: part[index])

    def to(self, device: torch.device | str, dtype: torch.dtype | None = None) -> Rows:
        """Rows on a device; their numbers, not their truths and labels, in a precision."""
        return self.map_tensors(lambda part: part.to(device, dtype if part.is_floating_point() else None))

    def to_async(self, device: torch.device) -> Rows:
        """Rows on their way to a device: the host does not wait for them."""
        return self.map_tensors(lambda part: part.pin_memory().to(device, non_blocking=True))

    def clone(self) -> Rows:
        return self.map_tensors(torch.clone)

    def copy_(self, rows: Rows) -> None:
        """Copy the contents of rows of the same shape into these."""
        for mine, theirs in zip(self.parts, rows.parts, strict=True):
            mine.copy_(theirs, non_blocking=True)

    @property
    def parts(self) -> list[Tensor]:
        """Every tensor, once."""
        return [
            self.x,
            self.present,
            *([] if self.available is self.present else [self.available]),
            *(part for part in (self.y, self.soft_y, self.weight) if part is not None),
        ]

    def in_memory(self) -> Rows:
        return self

    def shuffled_batches(self, n_batches: int, size: int, device: torch.device) -> Iterator[tuple[Rows, Tensor]]:
        """An epoch of batches of exactly `size` rows with their weights, which are 0 for the padding of the last one.

        Rows on another device are sent batch by batch, while the device works on earlier ones.
        """
        n = len(self)
        order = torch.randperm(n, device=self.x.device)
        padded = order[torch.arange(n_batches * size, device=self.x.device) % n]
        weight = (torch.arange(n_batches * size, device=device) < n).float()
        for start in range(0, n_batches * size, size):
            batch = self.take(padded[start : start + size])
            placed = batch if self.x.device == device else batch.to_async(device)
            is_row = weight[start : start + size]
            yield placed, is_row if placed.weight is None else is_row * placed.weight

    def batches(self, size: int) -> Sequence[Rows]:
        return [self.take(slice(start, start + size)) for start in range(0, len(self), size)]


def evenly(n: int, most: int) -> Tensor:
    """Positions of at most `most` of n rows, evenly spread from the first to the last."""
    count = min(n, most)
    # In whole numbers: a rounding error of floats would name some rows twice, and skip others.
    return torch.arange(count) * (n - 1) // max(count - 1, 1)


def repeat_rows(tensor: Tensor, times: int) -> Tensor:
    """The rows of a tensor (rows, ...) again and again: (times x rows, ...)."""
    return tensor.repeat(times, *[1] * (tensor.dim() - 1))


def even_batches(n_rows: int, batch_size: int) -> tuple[int, int]:
    """The number of batches in an epoch and their common size: as even as can be, the last one padded."""
    count = max(1, math.ceil(n_rows / batch_size))
    return count, math.ceil(n_rows / count)


def to_device_if_fits(rows: Rows, device: torch.device, share: float = 0.5) -> Rows:
    """Rows on the device if they take at most a share of its free memory; else as they are, sent batch by batch."""
    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        if sum(part.nbytes for part in rows.parts) > share * free:
            return rows
    return rows.to(device)
