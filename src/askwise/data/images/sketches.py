"""Sketches: the edges of images, which some models know from the start."""

from __future__ import annotations

from typing import Any

import numpy as np
from joblib import Parallel, cpu_count, delayed

from askwise.core.arrays import Array
from askwise.core.errors import AskwiseError, shortened
from askwise.data.images.patches import PatchLayout
from askwise.data.images.pictures import NoPicture, as_data_url, held, picture, told_pixels

# Fewer pixels are drawn before other processes have started.
WORTH_WORKERS = 100_000_000
AT_ONCE = 64


def sketch(photo: Any) -> Array:
    """The edges of a photo as a model with prior="sketch" knows them: (height, width), lines 255 and all else 0.

    photo: an array, a PIL image, the bytes of an image file or a data URL, of the size and with the colours of the
    images that the model learnt from.
    """
    try:
        pixels = picture(held(photo))
        if pixels.dtype != np.uint8:
            raise NoPicture("not known everywhere (NaN)")
    except NoPicture as error:
        given = f"an array of {photo.dtype} {photo.shape}" if isinstance(photo, np.ndarray) else shortened(photo)
        raise AskwiseError(
            "sketch takes one photo: an array (height, width) or (height, width, 3) of whole numbers from 0 to 255 or "
            "fractions from 0 to 1, a PIL image, or a PNG, JPEG, WebP, BMP or GIF as its bytes or a data URL; was "
            f"given {given}, {error}"
        ) from error
    return np.asarray(sketches(pixels[None])[0])


def sketch_of(layout: PatchLayout, image: Any) -> str:
    """The sketch of one whole image, both as answers are: whatever holds a picture goes in, a data URL comes out."""
    if not layout.sketch:
        raise AskwiseError("this model was trained without sketches, and needs none; leave it out")
    pixels = told_pixels("image", image, (layout.height, layout.width, layout.channels))
    return as_data_url(sketches(pixels[None])[0][..., None])


def sketches(images: Array, workers: int | None = None) -> Array:
    """The edges of each image (n, height, width, channels) as white lines on black, (n, height, width).

    Many are drawn by several processes; workers says by how many.
    """
    _canny()
    n, height, width, _ = images.shape
    count = workers or (cpu_count() if n * height * width >= WORTH_WORKERS else 1)
    starts = range(0, n, AT_ONCE)
    parts = Parallel(n_jobs=count, return_as="generator")(
        delayed(_drawn)(images[start : start + AT_ONCE]) for start in starts
    )
    found = np.empty((n, height, width), dtype=np.uint8)
    for start, part in zip(starts, parts, strict=True):
        found[start : start + AT_ONCE] = part
    return found


def _drawn(images: Array) -> Array:
    canny = _canny()
    # Image by image: all of them as fractions would take several times their memory.
    lines = [canny(image.astype(np.float32).mean(2) / 255, sigma=1.0) for image in images]
    return np.stack(lines).astype(np.uint8) * 255


def _canny() -> Any:
    try:
        from skimage.feature import canny
    except ImportError as error:
        raise AskwiseError("sketches need scikit-image; install it: pip install 'askwise[image]'") from error
    return canny
