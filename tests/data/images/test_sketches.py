"""Sketches of images."""

import io

import numpy as np
import pytest
from PIL import Image
from skimage.feature import canny

from askwise import AskwiseError
from askwise.data.images.patches import PatchLayout
from askwise.data.images.pictures import told_pixels
from askwise.data.images.sketches import sketch_of, sketches

LAYOUT = PatchLayout(16, 24, 3, 4, sketch=True)
IMAGE = np.random.default_rng(0).integers(0, 256, (16, 24, 3)).astype(np.uint8)


def drawn(url):
    return told_pixels("sketch", url, (16, 24, 1))[..., 0]


def test_a_sketch_is_the_edges_of_an_image():
    image = np.zeros((1, 32, 32, 3), dtype=np.uint8)
    image[:, 8:24, 8:24] = 200
    lines = sketches(image)[0]
    assert set(np.unique(lines)) == {0, 255}
    assert not lines[:6].any()
    assert not lines[12:20, 12:20].any()
    assert lines[12:20, 6:10].any(1).all()
    assert not sketches(np.full((1, 32, 32, 1), 90, dtype=np.uint8)).any()


@pytest.mark.parametrize("channels", [1, 3])
def test_many_sketches_are_those_of_each_image_whoever_draws_them(channels):
    images = np.random.default_rng(0).integers(0, 256, (150, 12, 8, channels)).astype(np.uint8)
    expected = [canny(grey, sigma=1.0) for grey in images.astype(np.float32).mean(3) / 255]
    assert np.array_equal(sketches(images), np.stack(expected) * 255)
    assert np.array_equal(sketches(images, workers=2), sketches(images))
    assert sketches(images[:0]).shape == (0, 12, 8)


def test_the_sketch_of_a_whole_image_is_that_of_the_rows():
    assert np.array_equal(drawn(sketch_of(LAYOUT, IMAGE)), sketches(IMAGE[None])[0])
    with pytest.raises(AskwiseError, match="trained without sketches"):
        sketch_of(PatchLayout(16, 24, 3, 4), IMAGE)


def test_the_sketch_of_a_turned_photo_is_of_the_photo_as_it_is_seen():
    file, exif = io.BytesIO(), Image.Exif()
    exif[0x0112] = 6
    Image.fromarray(np.rot90(IMAGE).copy()).save(file, "PNG", exif=exif)
    assert sketch_of(LAYOUT, file.getvalue()) == sketch_of(LAYOUT, IMAGE)
