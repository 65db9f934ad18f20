"""Images as rows: the schema of their patches, and what an answer about a patch is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from askwise.core.arrays import Array
from askwise.core.costs import costs_from_dict, costs_to_dict
from askwise.core.errors import AskwiseError
from askwise.data.images.patches import SKETCH, PatchLayout, PatchSpace
from askwise.data.images.pictures import PREFIX, allowed, as_data_url, coloured, told_pixels
from askwise.data.images.sketches import sketches
from askwise.data.tables.column import Column
from askwise.data.tables.odd_values import OddValues
from askwise.data.tables.prices import Price, group_costs
from askwise.data.tables.questions import Wording
from askwise.data.tables.schema import Schema, rows_of

if TYPE_CHECKING:
    from askwise.core.rows import Rows

PIXELS = "pixels"
# How the data URL of what is a PNG indeed begins.
OWN = PREFIX + "iVBORw0KGgo"
DRAW = "askwise.sketch(photo) draws the edges of a photo"


@dataclass(frozen=True)
class PixelColumn(Column):
    """A patch: an answer is a picture of (height, width, channels).

    It may be given as an array, a PIL image, the bytes of an image file or a data URL; it is kept as the data URL of a
    PNG, which JSON holds and nothing is lost in.
    """

    shape: tuple[int, int, int] = (0, 0, 0)

    @property
    def n_entries(self) -> int:
        return int(np.prod(self.shape))

    @property
    def allowed(self) -> str:
        return allowed(self.shape)

    def parse(self, value: object) -> str | None:
        """A picture as the data URL of a PNG; None where it is missing."""
        if value is None or (isinstance(value, float) and value != value):
            return None
        own = as_data_url(self.pixels(value))
        # A PNG stays as it came, unless it carries more than its pixels: it is kept in every session and record.
        return value if isinstance(value, str) and value.startswith(OWN) and len(value) <= len(own) else own

    def pixels(self, value: Any) -> Array:
        """The pixels (height, width, channels) of an answer."""
        return told_pixels(self.name, value, self.shape)

    def is_outside(self, value: Any) -> bool:
        del value
        return False


@dataclass(frozen=True)
class SketchColumn(PixelColumn):
    """A sketch: white lines on black, as 0 and 255, 0 and 1, or False and True."""

    def pixels(self, value: Any) -> Array:
        drawn = isinstance(value, np.ndarray) and value.dtype == bool
        try:
            found = told_pixels(self.name, value.astype(np.uint8) if drawn else value, self.shape)
        except AskwiseError as error:
            raise AskwiseError(f"{error}. {DRAW}") from error
        white = found.max()
        # A photo would be taken for edges without a word, and its prediction for one with a sketch.
        if white not in (0, 1, 255) or ((found != 0) & (found != white)).any():
            raise AskwiseError(
                f"{self.name!r} takes the edges of an image in black and white, as 0 and 255, 0 and 1, or False and "
                f"True; was given a picture of {len(np.unique(found))} shades, up to {white}, as a photo has. {DRAW}"
            )
        return (found != 0) * np.uint8(255)


@dataclass(frozen=True)
class ImageSchema(Schema):
    """Images of one size: every patch is a question, and a sketch of the image is free."""

    space: PatchSpace

    @property
    def layout(self) -> PatchLayout:
        return self.space.layout

    @property
    def n_features(self) -> int:
        return self.layout.n_pixels

    def question_wording(self, group: str) -> Wording:
        row, column = group[1:].split("c")
        return replace(self.wording_of(group), text=f"the patch in row {row}, column {column}")

    def encode(self, images: Array, odd: OddValues | None = None) -> Rows:
        """Rows of images (n, height, width, channels), uint8, or numbers in which NaN is not known; none is odd."""
        del odd
        layout = self.layout
        n = len(images)
        images = coloured(images, layout.channels)
        if images.shape[1:] != (layout.height, layout.width, layout.channels):
            raise AskwiseError(
                f"images of {images.shape[1]} x {images.shape[2]} pixels and {images.shape[3]} channels were given, "
                f"and the model takes {layout.height} x {layout.width} and {layout.channels}"
            )
        there = np.ones((n, len(self.columns)), dtype=bool)
        if images.dtype != np.uint8:
            rows, columns = layout.grid
            blocks = np.isnan(images).reshape(n, rows, layout.patch, columns, layout.patch, layout.channels)
            there[:, : layout.n_patches] = ~blocks.any((2, 4, 5)).reshape(n, -1)
            images = np.nan_to_num(images).astype(np.uint8)
        x = images.transpose(0, 3, 1, 2).reshape(n, -1)
        if layout.sketch:
            there[:, -1] = there[:, : layout.n_patches].all(1)
            x = np.concatenate([x, sketches(images).reshape(n, -1)], 1)
        # What is absent is 0, as in a table.
        hidden = ~there[:, np.array(self.space.column_of_entry)] if not there.all() else None
        x = np.ascontiguousarray(x if hidden is None else np.where(hidden, 0, x))
        return rows_of(self.space, x, there)

    def put(self, name: str, value: Any, x: Array, present: Array) -> None:
        layout, c = self.layout, self.column_position[name]
        present[0, c] = True
        pixels = self.columns[c].pixels(value).transpose(2, 0, 1)  # type: ignore[attr-defined]
        if c == layout.n_patches:
            x[0, layout.n_pixels :] = pixels.ravel()
        else:
            image = x[0, : layout.n_pixels].reshape(layout.channels, layout.height, layout.width)
            lines, columns = layout.window(c)
            image[:, lines, columns] = pixels

    def image(self, x: Array) -> Array:
        """The image (height, width, channels) of one row's entries."""
        layout = self.layout
        planes = x[: layout.n_pixels].reshape(layout.channels, layout.height, layout.width)
        return np.ascontiguousarray(planes.transpose(1, 2, 0)).astype(np.uint8)

    def to_dict(self) -> dict[str, Any]:
        return {"image": asdict(self.layout), **costs_to_dict(self.space.costs)}

    def with_costs(self, costs: tuple[float, ...]) -> ImageSchema:
        """The same with other costs of the patches."""
        return replace(self, space=replace(self.space, costs=costs))

    @staticmethod
    def of_layout(layout: PatchLayout, costs: Mapping[Any, Price] | Sequence[float] | None = None) -> ImageSchema:
        """The schema of images that are laid out so, with a price for each patch."""
        size = (layout.patch, layout.patch, layout.channels)
        columns = [PixelColumn(name, PIXELS, shape=size) for name in layout.names]
        if layout.sketch:
            columns.append(SketchColumn(SKETCH, PIXELS, shape=(layout.height, layout.width, 1)))
        members = {name: (name,) for name in layout.names}
        free = [SKETCH] if layout.sketch else []
        prices = group_costs(layout.in_order(costs), [*members, *free], members, free)
        return ImageSchema(tuple(columns), PatchSpace.of(layout, prices), named=False)


def schema_from_dict(data: dict[str, Any]) -> Schema:
    """The schema that a bundle holds, of a table or of images."""
    if "image" in data:
        return ImageSchema.of_layout(PatchLayout(**data["image"])).with_costs(costs_from_dict(data))
    return Schema.from_dict(data)
