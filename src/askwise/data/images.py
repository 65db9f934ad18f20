"""Images as rows: the schema of their patches, and what an answer about a patch is."""

from __future__ import annotations

import base64
import binascii
import io
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import torch

from askwise.data.prices import group_costs
from askwise.data.questions import Wording
from askwise.data.table import Column, Schema
from askwise.errors import AskwiseError, shortened
from askwise.features import Rows
from askwise.patches import SKETCH, PatchLayout, PatchSpace

Array = np.ndarray[Any, Any]

PIXELS = "pixels"
PREFIX = "data:image/png;base64,"
MOST_TEXT = 10_000_000
# Of files from anywhere: others can be read too, some of them by running another program.
FORMATS = ("PNG", "JPEG", "WEBP", "BMP", "GIF")


@dataclass(frozen=True)
class PixelColumn(Column):
    """A patch, or a sketch: an answer is a picture of (height, width, channels).

    It may be given as an array, a PIL image, the bytes of an image file or a data URL; it is kept as the data URL of a
    PNG, which JSON holds and nothing is lost in.
    """

    shape: tuple[int, int, int] = (0, 0, 0)

    @property
    def n_entries(self) -> int:
        return int(np.prod(self.shape))

    @property
    def allowed(self) -> str:
        height, width, channels = self.shape
        return (
            f"a picture of {height} x {width} pixels and {channels} channel{'s' if channels > 1 else ''}: an array of "
            "whole numbers from 0 to 255, an image, or a PNG, JPEG, WebP, BMP or GIF as its bytes or a data URL"
        )

    def parse(self, value: object) -> str | None:
        """A picture as the data URL of a PNG; None where it is missing."""
        if value is None or (isinstance(value, float) and value != value):
            return None
        pixels = self._pixels(value)
        return value if isinstance(value, str) and value.startswith(PREFIX) else as_data_url(pixels)

    def pixels(self, value: Any) -> Array:
        """The pixels (height, width, channels) of a parsed answer."""
        return self._pixels(value)

    def is_outside(self, value: Any) -> bool:
        del value
        return False

    def _pixels(self, value: object) -> Array:
        given = _opened(value)
        # An image tells its size before it is unpacked: one that would fill the memory is refused by that.
        size = given.size[::-1] if hasattr(given, "convert") else self.shape[:2]
        if size == self.shape[:2]:
            found = picture(given, self.shape[2])
            if found is None:
                raise self._mistake(f"{_shown(value)}, which is no picture, or a damaged one")
            if found.shape == self.shape:
                return found
            size = found.shape[:2]
        raise self._mistake(f"one of {size[0]} x {size[1]} pixels")

    def _mistake(self, given: str) -> AskwiseError:
        return AskwiseError(f"{self.name!r} takes {self.allowed}; was given {given}")


def _shown(value: object) -> str:
    return f"an array of {value.dtype} {value.shape}" if isinstance(value, np.ndarray) else shortened(value)


def _opened(value: Any) -> Any:
    """A value, as an image that is not unpacked yet where it is a file or a data URL; None where it is a broken one."""
    if isinstance(value, str):
        value = _from_url(value)
    return _image(bytes(value)) if isinstance(value, (bytes, bytearray)) else value


def picture(value: Any, channels: int) -> Array | None:
    """Pixels (height, width, channels) of an image or an array; None where they can't be had."""
    if hasattr(value, "convert"):
        try:
            value = np.asarray(value.convert("L" if channels == 1 else "RGB"))
        except (OSError, ValueError, SyntaxError):
            return None
    try:
        array = np.asarray(value)
    except (ValueError, TypeError):
        return None
    if array.ndim == 2:
        array = np.repeat(array[..., None], channels, axis=2)
    if array.ndim != 3 or array.shape[2] != channels or array.dtype.kind not in "uif" or not array.size:
        return None
    if array.dtype != np.uint8:
        whole = np.round(array.astype(np.float64))
        if not (np.isfinite(whole).all() and (whole == array).all() and whole.min() >= 0 and whole.max() <= 255):
            return None
        array = whole.astype(np.uint8)
    return np.ascontiguousarray(array)


def _from_url(text: str) -> bytes | None:
    if not text.startswith("data:image/") or ";base64," not in text[:40] or len(text) > MOST_TEXT:
        return None
    try:
        return base64.b64decode(text.partition(";base64,")[2], validate=True)
    except (binascii.Error, ValueError):
        return None


def _image(data: bytes) -> Any:
    from PIL import Image

    try:
        return Image.open(io.BytesIO(data), formats=FORMATS)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return None


def as_data_url(pixels: Array) -> str:
    """Pixels (height, width, channels) as the data URL of a PNG."""
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels).save(file, "PNG")
    return PREFIX + base64.b64encode(file.getvalue()).decode()


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

    def encode(self, images: Array) -> Rows:
        """Rows of images (n, height, width, channels), uint8, or numbers in which NaN is not known."""
        layout = self.layout
        n = len(images)
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
        present = torch.from_numpy(there)
        # What is absent is 0, as in a table.
        hidden = ~there[:, np.array(self.space.column_of_entry)] if not there.all() else None
        x = np.ascontiguousarray(x if hidden is None else np.where(hidden, 0, x))
        return Rows(torch.from_numpy(x), present, self.space.available(present))

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
        return {"image": asdict(self.layout), "costs": list(self.space.costs)}

    @staticmethod
    def of_layout(layout: PatchLayout, costs: Mapping[Any, float] | Sequence[float] | None = None) -> ImageSchema:
        """The schema of images that are laid out so, with a price for each patch."""
        size = (layout.patch, layout.patch, layout.channels)
        columns = [PixelColumn(name, PIXELS, shape=size) for name in layout.names]
        if layout.sketch:
            columns.append(PixelColumn(SKETCH, PIXELS, shape=(layout.height, layout.width, 1)))
        members = {name: (name,) for name in layout.names}
        free = [SKETCH] if layout.sketch else []
        prices = group_costs(costs, [*members, *free], members, free)
        return ImageSchema(tuple(columns), PatchSpace.of(layout, prices), named=False)


def schema_from_dict(data: dict[str, Any]) -> Schema:
    """The schema that a bundle holds, of a table or of images."""
    if "image" in data:
        return ImageSchema.of_layout(PatchLayout(**data["image"]), data["costs"])
    return Schema.from_dict(data)


def sketch_of(layout: PatchLayout, image: Any) -> str:
    """The sketch of one whole image, both as answers are: whatever holds a picture goes in, a data URL comes out."""
    if not layout.sketch:
        raise AskwiseError("this model was trained without sketches, and needs none; leave it out")
    whole = PixelColumn("image", PIXELS, shape=(layout.height, layout.width, layout.channels))
    pixels = whole.pixels(image)
    return as_data_url(sketches(pixels[None])[0][..., None])


def sketches(images: Array) -> Array:
    """The edges of each image (n, height, width, channels) as white lines on black, (n, height, width)."""
    try:
        from skimage.feature import canny
    except ImportError as error:
        raise AskwiseError("sketches need scikit-image; install it: pip install 'askwise[image]'") from error

    grey = images.astype(np.float32).mean(3) / 255
    return np.stack([canny(image, sigma=1.0) for image in grey]).astype(np.uint8) * 255  # type: ignore[no-untyped-call]
