"""Images as what can be asked: a grid of patches, each of them a group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from askwise.core.costs import join_costs, own_costs, shared_costs
from askwise.core.errors import AskwiseError
from askwise.core.features import FeatureSpace

SKETCH = "sketch"


@dataclass(frozen=True)
class PatchLayout:
    """Images of one size, cut into square patches; with a sketch of each image, which is known from the start.

    A row holds an image as its pixels, channel by channel and line by line, then those of the sketch.
    """

    height: int
    width: int
    channels: int
    patch: int
    sketch: bool = False

    def __post_init__(self) -> None:
        if self.height % self.patch or self.width % self.patch:
            raise AskwiseError(
                f"images of {self.height} x {self.width} pixels can't be cut into whole patches of {self.patch} x "
                f"{self.patch}; give a patch that divides both, or another size of the images"
            )
        if self.n_patches < 2:
            raise AskwiseError(
                f"a patch of {self.patch} x {self.patch} is the whole image of {self.height} x {self.width}; give a "
                "smaller patch"
            )

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of patches."""
        return self.height // self.patch, self.width // self.patch

    @property
    def n_patches(self) -> int:
        return self.grid[0] * self.grid[1]

    @property
    def n_pixels(self) -> int:
        """Entries of the image; those of the sketch come after them."""
        return self.channels * self.height * self.width

    @property
    def names(self) -> tuple[str, ...]:
        """r1c1, r1c2, ...: the row and column of each patch, counted from 1."""
        rows, columns = self.grid
        return tuple(f"r{r + 1}c{c + 1}" for r in range(rows) for c in range(columns))

    def window(self, patch: int) -> tuple[slice, slice]:
        """The lines and columns of pixels of a patch."""
        row, column = divmod(patch, self.grid[1])
        p = self.patch
        return slice(row * p, (row + 1) * p), slice(column * p, (column + 1) * p)

    def encoding(self) -> dict[str, Any]:
        """What the entries of a row are and what a mask is about, for programs that fill them in themselves."""
        sketch = {"start": self.n_pixels, "shape": [self.height, self.width], "values": [0, 255]}
        return {
            "x": self._in_words(),
            "layout": ["channels", "height", "width"],
            "shape": [self.channels, self.height, self.width],
            "range": [0, 255],
            "questions": list(self.names),
            "mask": [*self.names, *([SKETCH] if self.sketch else [])],
            "sketch": sketch if self.sketch else None,
        }

    def _in_words(self) -> str:
        colours = "in red, green and blue, one after another" if self.channels == 3 else "in grey"
        edges = f"then the {self.height} x {self.width} of its sketch, edges 255 and all else 0"
        return (
            f"the pixels of an image of {self.height} rows x {self.width} columns {colours}, each row by row, from 0 "
            f"to 255 as float32, not normalised{f'; {edges}' if self.sketch else ''}"
        )

    def in_order(self, costs: Any) -> Any:
        """Prices as given, or where they are a grid of rows and columns, one after another."""
        prices = np.array(None if isinstance(costs, Mapping) else costs, dtype=object)
        if prices.ndim != 2:
            return costs
        if prices.shape != self.grid:
            raise AskwiseError(
                f"costs is a grid of {prices.shape[0]} x {prices.shape[1]} prices, and the patches lie in one of "
                f"{self.grid[0]} rows x {self.grid[1]} columns"
            )
        return prices.ravel().tolist()

    def patch_of_entry(self) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
        """The patch of each entry; those of the sketch belong to one more."""
        numbers = np.arange(self.n_patches).reshape(self.grid)
        of_pixel = numbers.repeat(self.patch, 0).repeat(self.patch, 1)
        found = np.tile(of_pixel.ravel(), self.channels)
        extra = np.full(self.height * self.width if self.sketch else 0, self.n_patches)
        return np.concatenate([found, extra])


@dataclass(frozen=True)
class PatchSpace(FeatureSpace):
    """The groups of an image: its patches, each with one column; a sketch is a free column more."""

    # In larger batches a GPU's dilated convolutions in float32 can be slower by far.
    most_on_gpu: ClassVar[int] = 256

    layout: PatchLayout

    def in_order(self, costs: Any) -> Any:
        return self.layout.in_order(costs)

    @staticmethod
    def of(layout: PatchLayout, costs: Sequence[float]) -> PatchSpace:
        columns = (*range(layout.n_patches), *([-1] if layout.sketch else []))
        prices = join_costs(own_costs(costs), shared_costs(costs))
        return PatchSpace(layout.names, prices, columns, tuple(layout.patch_of_entry().tolist()), layout)
