"""Pictures as pixels: the one decoder of files, answers and lists, so that a picture means the same in each."""

from __future__ import annotations

import base64
import binascii
import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from askwise.core.arrays import Array
from askwise.core.errors import AskwiseError, listed, shortened

PREFIX = "data:image/png;base64,"
MOST_TEXT = 10_000_000
# Of files from anywhere: others can be read too, some of them by running another program.
FORMATS = ("PNG", "JPEG", "WEBP", "BMP", "GIF")
# Pillow's names for what is grey and for what may be seen through; "I;16" has variants by the order of bytes.
GREY, CLEAR, WIDE = ("1", "L", "LA", "La"), ("LA", "La", "PA", "RGBA", "RGBa"), "I;16"
# The tag of EXIF that says how an image is turned, and the values in which width and height change places.
ORIENTATION, TURNED = 0x0112, (5, 6, 7, 8)
DAMAGED = "no picture, or a damaged one"


class NoPicture(ValueError):
    """What can't be taken for a picture; the message says what it is, so that it can end a sentence."""


# Arrays


def as_pixels(array: Array) -> Array:
    """Pixels as uint8, by their type: floats are fractions from 0 to 1, whole numbers go from 0 to 255.

    Where some are not known (NaN), they stay numbers, from 0 to 255.
    """
    if array.dtype == np.uint8:
        return array
    if array.dtype.kind not in "iuf":
        raise NoPicture(f"an array of {array.dtype}")
    fractions = array.dtype.kind == "f"
    unknown = fractions and bool(np.isnan(array).any())
    low, high = (0, 0) if unknown and np.isnan(array).all() else (np.nanmin(array), np.nanmax(array))
    if not (low >= 0 and high <= (1 if fractions else 255)):
        raise NoPicture(f"numbers from {low:g} to {high:g} as {array.dtype}")
    numbers = np.round(array * 255) if fractions else array
    return numbers if unknown else numbers.astype(np.uint8)


def as_images(X: Any) -> Array:
    """Images (n, height, width, channels) of an array or of a list: uint8, or where some pixels are NaN, numbers.

    A list holds arrays, PIL images, bytes of image files or data URLs; one with grey and coloured images is coloured.
    """
    if hasattr(X, "images"):
        X = X.images
    if isinstance(X, np.ndarray):
        return _of_array(X)
    try:
        given = [] if isinstance(X, (str, bytes)) else list(X)
    except TypeError:
        given = []
    if not given:
        raise AskwiseError(
            f"images are an array or a list of images, was given {shortened(X)}; read_images(path) reads files"
        )
    # One list of numbers has one type: an image of 0 and 1 among fractions holds fractions too.
    if all(isinstance(image, (list, tuple)) for image in given):
        return _of_array(_stacked([_numbered(i, image, _array) for i, image in enumerate(given)]))
    found = [_numbered(i, image, lambda one: picture(held(one))) for i, image in enumerate(given)]
    colours = max(image.shape[2] for image in found)
    return _stacked([coloured(image, colours) for image in found])


def _of_array(images: Array) -> Array:
    given = images.shape
    if images.ndim == 3:
        images = images[..., None]
    if images.ndim != 4 or images.shape[3] not in (1, 3) or not images.size:
        what = "none were given, in an array of" if 0 in given[:1] else "was given"
        raise AskwiseError(
            f"images are an array (n, height, width), or (n, height, width, 3) with colours last; {what} shape {given}"
            f"{if_colours_first(given)}"
        )
    try:
        return as_pixels(images)
    except NoPicture as error:
        raise AskwiseError(
            f"pixels are whole numbers from 0 to 255, or fractions from 0 to 1; was given {error}"
        ) from error


def if_colours_first(shape: tuple[int, ...]) -> str:
    """What mends an array whose colours come first, to end a sentence with; nothing for others."""
    return "; put them last: images.transpose(0, 2, 3, 1)" if len(shape) == 4 and shape[1] in (1, 3) else ""


def _stacked(images: Sequence[Array]) -> Array:
    shapes = sorted({image.shape for image in images})
    if len(shapes) > 1:
        raise AskwiseError(
            f"images must have one size; these have {listed(shapes, most=3)}. read_images(path, size=...) brings files "
            "to one size"
        )
    return np.stack(images)


def _numbered(i: int, image: Any, read: Callable[[Any], Array]) -> Array:
    try:
        return read(image)
    except NoPicture as error:
        raise AskwiseError(
            f"image {i + 1} of the list is {_shown(image)}, {error}; give arrays, PIL images, bytes of image files or "
            "data URLs, or read files with read_images(path)"
        ) from error


def coloured(pixels: Array, channels: int | None) -> Array:
    """Pixels (..., channels), in which grey is repeated where colours are meant."""
    return np.repeat(pixels, 3, axis=-1) if channels == 3 and pixels.shape[-1] == 1 else pixels


def _array(value: Any) -> Array:
    try:
        return np.asarray(value)
    except (ValueError, TypeError) as error:
        raise NoPicture(DAMAGED) from error


# Images


def held(value: Any) -> Any:
    """What holds a picture, as a PIL image that is not unpacked yet, or as it came where it is an array or a list."""
    if isinstance(value, str):
        value = _from_url(value)
    return open_picture(bytes(value), FORMATS) if isinstance(value, (bytes, bytearray)) else value


def picture(value: Any, channels: int | None = None) -> Array:
    """Pixels (height, width, channels) of a PIL image or an array; uint8, or where some are NaN, numbers."""
    if hasattr(value, "getexif"):
        value = as_seen(value, channels)
    array = _array(value)
    if array.ndim == 2:
        array = array[..., None]
    if array.ndim != 3 or array.shape[2] not in (1, channels or 3) or not array.size:
        raise NoPicture(DAMAGED)
    return np.ascontiguousarray(coloured(as_pixels(array), channels))


def open_picture(file: Path | bytes, formats: tuple[str, ...] | None = None) -> Any:
    """A PIL image of a file, or of its bytes, of which only the header is read."""
    try:
        from PIL import Image
    except ImportError as error:
        raise AskwiseError("reading images needs pillow; install it: pip install 'askwise[image]'") from error

    try:
        return Image.open(io.BytesIO(file) if isinstance(file, bytes) else file, formats=formats)
    except Exception as error:  # Damaged files raise almost anything.
        raise NoPicture(DAMAGED) from error


def shown_size(image: Any) -> tuple[int, int]:
    """Height and width as an image is to be seen, as far as its header says, without unpacking it."""
    from PIL import Image

    width, height = image.size
    try:
        # PNG's own way to read EXIF unpacks the image first. A TIFF's size is that to be seen already.
        exif = {} if image.format == "TIFF" else Image.Image.getexif(image)
        return (width, height) if exif.get(ORIENTATION) in TURNED else (height, width)
    except Exception:  # So does damaged EXIF.
        return height, width


def as_seen(image: Any, channels: int | None = None) -> Any:
    """A PIL image as a viewer shows it, in 8 bits, "RGB" or "L": turned as its EXIF says, clear parts white.

    Without channels it is grey where it was.
    """
    try:
        return _as_seen(image, channels)
    except NoPicture:
        raise
    except Exception as error:
        raise NoPicture(DAMAGED) from error


def _as_seen(image: Any, channels: int | None) -> Any:
    image.load()
    if image.mode in ("I", "F"):
        raise NoPicture(
            f"a picture of 32 bits a pixel (mode {image.mode}), of which black and white are not known: save it with 8 "
            "or 16 bits"
        )
    grey = channels == 1 or (channels is None and (image.mode in GREY or image.mode.startswith(WIDE)))
    image = _turned(image)
    if image.mode.startswith(WIDE):
        image = _in_bytes(image)
    if image.mode in CLEAR or "transparency" in image.info:
        image = _on_white(image)
    return image.convert("L" if grey else "RGB")


def _turned(image: Any) -> Any:
    from PIL import ImageOps

    try:
        return ImageOps.exif_transpose(image)
    except Exception:  # The pixels are there; only what the camera wrote beside them is damaged.
        return image


def _in_bytes(image: Any) -> Any:
    """A grey image of 16 bits in 8: 65535 is 255."""
    from PIL import Image

    wide = np.asarray(image).astype(np.uint32)
    clear = wide == image.info.get("transparency", -1)
    return Image.fromarray(np.where(clear, 255, (wide + 128) // 257).astype(np.uint8))


def _on_white(image: Any) -> Any:
    from PIL import Image

    clear = image.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", clear.size, "white"), clear)


# Answers


def allowed(shape: tuple[int, int, int]) -> str:
    """What a picture of (height, width, channels) may be given as."""
    height, width, channels = shape
    return (
        f"a picture of {height} x {width} pixels and {channels} channel{'s' if channels > 1 else ''}: whole numbers "
        "from 0 to 255 or fractions from 0 to 1, an image, or a PNG, JPEG, WebP, BMP or GIF as its bytes or a data URL"
    )


def told_pixels(name: str, value: Any, shape: tuple[int, int, int]) -> Array:
    """The pixels of an answer, whatever holds them, which must have that (height, width, channels)."""
    try:
        given = held(value)
        # An image tells its size before it is unpacked: one that would fill the memory is refused by that.
        if hasattr(given, "getexif") and given.size[0] * given.size[1] != shape[0] * shape[1]:
            size = shown_size(given)
        else:
            found = picture(given, shape[2])
            if found.shape == shape and found.dtype == np.uint8:
                return found
            if found.shape == shape:
                raise NoPicture("not known everywhere (NaN)")
            size = found.shape[:2]
    except NoPicture as error:
        raise AskwiseError(f"{name!r} takes {allowed(shape)}; was given {_shown(value)}, {error}") from error
    raise AskwiseError(f"{name!r} takes {allowed(shape)}; was given one of {size[0]} x {size[1]} pixels")


def _shown(value: object) -> str:
    return f"an array of {value.dtype} {value.shape}" if isinstance(value, np.ndarray) else shortened(value)


def _from_url(text: str) -> bytes:
    if text.startswith("data:image/") and ";base64," in text[:40] and len(text) <= MOST_TEXT:
        try:
            return base64.b64decode(text.partition(";base64,")[2], validate=True)
        except (binascii.Error, ValueError):
            pass
    raise NoPicture(DAMAGED)


def as_data_url(pixels: Array) -> str:
    """Pixels (height, width, channels) as the data URL of a PNG."""
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels).save(file, "PNG")
    return PREFIX + base64.b64encode(file.getvalue()).decode()
