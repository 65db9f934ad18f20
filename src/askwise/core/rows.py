"""Encoded rows, in batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Rows:
    """Encoded rows: inputs x (rows, entries; 0 where absent), present (rows, columns), available (rows, groups), y."""

    x: Tensor
    present: Tensor
    available: Tensor
    y: Tensor | None = None

    def __len__(self) -> int:
        return len(self.x)

    def each(self, change: Callable[[Tensor], Tensor]) -> Rows:
        """Rows whose every tensor is changed; where availability is presence, one tensor stays both."""
        present = change(self.present)
        available = present if self.available is self.present else change(self.available)
        return Rows(change(self.x), present, available, None if self.y is None else change(self.y))

    def take(self, index: Tensor | slice) -> Rows:
        return self.each(lambda part: part[index])

    def to(self, device: torch.device | str, dtype: torch.dtype | None = None) -> Rows:
        """Rows on a device; their numbers, not their truths and labels, in a precision."""
        return self.each(lambda part: part.to(device, dtype if part.is_floating_point() else None))

    def sent(self, device: torch.device) -> Rows:
        """Rows on their way to a device: the host does not wait for them."""
        return self.each(lambda part: part.pin_memory().to(device, non_blocking=True))

    def clone(self) -> Rows:
        return self.each(torch.clone)

    def copy_(self, rows: Rows) -> None:
        """Take over the contents of rows of the same shape."""
        for mine, theirs in zip(self.parts, rows.parts, strict=True):
            mine.copy_(theirs, non_blocking=True)

    @property
    def parts(self) -> list[Tensor]:
        """Every tensor, once."""
        return [
            self.x,
            self.present,
            *([] if self.available is self.present else [self.available]),
            *([] if self.y is None else [self.y]),
        ]

    def batches(self, size: int) -> Sequence[Rows]:
        return [self.take(slice(start, start + size)) for start in range(0, len(self), size)]


def evenly(n: int, most: int) -> Tensor:
    """Positions of at most `most` of n rows, evenly spread from the first to the last."""
    count = min(n, most)
    # In whole numbers: a rounding error of floats would name some rows twice, and skip others.
    return torch.arange(count) * (n - 1) // max(count - 1, 1)
