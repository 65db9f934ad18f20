"""The decoder of pictures: the same pixels, whatever holds them and wherever they are given."""

import base64
import io

import numpy as np
import pytest
from PIL import Image

from askwise import AskwiseError
from askwise.data.images.files import read_image
from askwise.data.images.patches import PatchLayout
from askwise.data.images.pictures import as_images, as_pixels, told_pixels
from askwise.data.images.schema import ImageSchema
from askwise.session.row import Row

# The values of EXIF's orientation, and what a viewer does to the stored pixels.
TURNS = {
    1: lambda p: p,
    2: lambda p: p[:, ::-1],
    3: lambda p: p[::-1, ::-1],
    4: lambda p: p[::-1],
    5: lambda p: np.swapaxes(p, 0, 1),
    6: lambda p: np.rot90(p, -1),
    7: lambda p: np.swapaxes(p[::-1, ::-1], 0, 1),
    8: lambda p: np.rot90(p),
}
RNG = np.random.default_rng(0)
COLOURS, SHADES = (RNG.integers(0, 256, shape).astype(np.uint8) for shape in ((4, 4, 3), (4, 4)))


def file_of(image, kind="PNG", **more):
    file = io.BytesIO()
    image.save(file, kind, **more)
    return file.getvalue()


def url_of(image, kind="PNG"):
    return f"data:image/{kind.lower()};base64,{base64.b64encode(file_of(image, kind)).decode()}"


def exif(turn):
    found = Image.Exif()
    found[0x0112] = turn
    return found


def in_a_session(value, channels):
    """The pixels of a patch of 4 x 4, as a policy sees them once they were told."""
    schema = ImageSchema.of_layout(PatchLayout(4, 8, channels, 4))
    row = Row(schema)
    row.put({"r1c1": schema.columns[0].parse(value)})
    return schema.image(row.x[0])[:, :4]


def in_a_batch(value, channels):
    found = as_images([value])
    return found[0] if found.shape[3] == channels else None


def in_a_file(image, tmp_path, channels, kind="PNG"):
    (tmp_path / "image").write_bytes(file_of(image, kind))
    return read_image(tmp_path / "image", image.height, image.width, channels)


def modes():
    """Images of Pillow's many modes, with what is seen of each: all of the same 4 x 4."""
    palette = Image.new("P", (4, 4))
    palette.putpalette([9, 99, 200, 30, 60, 90])
    palette.putpixel((2, 1), 1)
    two = np.full((4, 4, 3), (9, 99, 200), np.uint8)
    two[1, 2] = (30, 60, 90)
    clear = np.dstack([COLOURS, np.full((4, 4), 255, np.uint8)])
    clear[0, :, 3] = 0
    seen = COLOURS.copy()
    seen[0] = 255
    half = np.dstack([np.zeros((4, 4), np.uint8), np.full((4, 4), 51, np.uint8)])
    wide = RNG.integers(0, 65536, (4, 4)).astype(np.uint16)
    wide[0, :2] = 0, 65535
    bits = SHADES > 100
    return {
        "colours": (Image.fromarray(COLOURS), COLOURS),
        "grey": (Image.fromarray(SHADES), SHADES[..., None]),
        "one bit": (Image.fromarray(bits), bits[..., None] * np.uint8(255)),
        "palette": (palette, two),
        "clear": (Image.fromarray(clear), seen),
        "grey and clear": (Image.fromarray(half), np.full((4, 4, 1), 204, np.uint8)),
        "16 bits": (Image.fromarray(wide), np.round(wide / 257).astype(np.uint8)[..., None]),
    }


@pytest.mark.parametrize("name", modes())
def test_an_image_of_any_kind_is_seen_the_same_in_a_session_a_batch_and_a_file(name, tmp_path):
    image, seen = modes()[name]
    channels = seen.shape[2]
    for form in (image, file_of(image), bytearray(file_of(image)), url_of(image), seen, seen / 255):
        assert np.array_equal(in_a_session(form, channels), seen)
        assert np.array_equal(in_a_batch(form, channels), seen)
    assert np.array_equal(in_a_file(image, tmp_path, channels), seen)
    assert np.array_equal(in_a_session(image, 3), np.broadcast_to(seen, (4, 4, 3)))


def test_the_colour_that_a_file_calls_clear_is_white():
    image = modes()["palette"][0]
    seen = np.full((4, 4, 3), 255, np.uint8)
    seen[1, 2] = (30, 60, 90)
    for kind in ("PNG", "GIF"):
        data = file_of(image, kind, transparency=0)
        assert np.array_equal(in_a_session(data, 3), seen)
        assert np.array_equal(in_a_batch(data, 3), seen)
    wide = np.full((4, 4), 5140, np.uint16)
    wide[0, 0] = 257
    found = in_a_session(file_of(Image.fromarray(wide), transparency=5140), 1)
    assert (found[0, 0, 0], set(found.ravel()[1:])) == (1, {255})


@pytest.mark.parametrize("kind", ["PNG", "WEBP", "TIFF", "JPEG"])
@pytest.mark.parametrize("turn", TURNS)
def test_a_turned_image_is_seen_as_a_viewer_shows_it(turn, kind, tmp_path):
    blocks = np.repeat(np.repeat(np.arange(6, dtype=np.uint8).reshape(2, 3) * 50, 16, 0), 16, 1)
    stored = np.repeat(blocks[..., None], 3, 2)
    lossless = {"WEBP": {"lossless": True}, "JPEG": {"quality": 100, "subsampling": 0}}.get(kind, {})
    data = file_of(Image.fromarray(stored), kind, exif=exif(turn), **lossless)
    seen = TURNS[turn](stored)
    (tmp_path / "image").write_bytes(data)
    found = [read_image(tmp_path / "image", *seen.shape[:2]), as_images([Image.open(io.BytesIO(data))])[0]]
    if kind != "TIFF":
        found.append(told_pixels("image", data, seen.shape))
    for pixels in found:
        assert np.allclose(pixels, seen, atol=2)


def test_damaged_exif_beside_whole_pixels_is_passed_over():
    data = file_of(Image.fromarray(COLOURS), exif=b"Exif\x00\x00 nothing of the kind")
    assert np.array_equal(in_a_session(data, 3), COLOURS)


@pytest.mark.parametrize("mode", ["I", "F"])
def test_pixels_of_32_bits_are_refused_with_what_to_do(mode, tmp_path):
    said = rf"32 bits a pixel \(mode {mode}\).*save it with 8 or 16 bits"
    image = Image.new(mode, (4, 4), 70000)
    with pytest.raises(AskwiseError, match=rf"'r1c1' takes .*{said}"):
        in_a_session(image, 3)
    with pytest.raises(AskwiseError, match=rf"image 2 of the list is .*{said}"):
        as_images([Image.new("L", (4, 4)), image])
    with pytest.raises(AskwiseError, match=rf"the image .* can't be read: .*{said}"):
        in_a_file(image, tmp_path, 3, "TIFF")


def test_a_list_of_grey_and_coloured_images_is_coloured():
    photo, scan = Image.fromarray(COLOURS), Image.fromarray(SHADES)
    images = as_images([scan, photo, SHADES, COLOURS / 255, file_of(scan)])
    grey = np.repeat(SHADES[..., None], 3, 2)
    assert np.array_equal(images, np.stack([grey, COLOURS, grey, COLOURS, grey]))
    assert as_images([scan, SHADES]).shape == (2, 4, 4, 1)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_floats_are_fractions_and_whole_numbers_are_themselves(kind):
    every = np.arange(256)
    assert np.array_equal(as_pixels((every / 255).astype(kind)), every)
    assert all(np.array_equal(as_pixels(every.astype(whole)), every) for whole in (np.int16, np.uint32, np.int64))
    assert as_pixels(np.array([1.0, 0.0])).tolist() == [255, 0]
    assert as_pixels(np.array([1, 0])).tolist() == [1, 0]


def test_lists_of_numbers_mean_the_same_in_a_session_and_in_a_batch():
    whole, fractions = np.array([[0, 1] * 2] * 4), np.array([[0.0, 1.0] * 2] * 4)
    for numbers, white in ((whole, 1), (fractions, 255)):
        for form in (numbers, numbers.tolist()):
            assert in_a_session(form, 1).max() == white
            assert as_images([form]).max() == white
    # Whole images among fractions, in one list, are fractions too.
    assert as_images([whole.tolist(), (fractions / 2).tolist()]).max() == 255


@pytest.mark.parametrize(
    ("images", "said"),
    [
        ("photos/", r"images are an array or a list of images, was given 'photos/'; read_images\(path\) reads files"),
        (["a.png", "b.png"], r"image 1 of the list is 'a.png', no picture, or a damaged one; .*read_images\(path\)"),
        ([SHADES, b"nothing"], r"image 2 of the list is b'nothing', no picture"),
        ([[[1, 2], [3]]], r"image 1 of the list is \[\[1, 2\], \[3\]\], no picture"),
        ([SHADES, SHADES * 2.0], r"image 2 of the list is an array of float64 \(4, 4\), numbers from .* as float64"),
        (
            [Image.new("L", (4, 4)), Image.new("RGB", (4, 5))],
            r"one size; these have \(4, 4, 3\), \(5, 4, 3\)",
        ),
        ([Image.new("L", (0, 4))], r"image 1 of the list is .*no picture"),
        (np.zeros((2, 4, 4), bool), r"fractions from 0 to 1; was given an array of bool"),
    ],
)
def test_what_is_no_list_of_pictures_is_told(images, said):
    with pytest.raises(AskwiseError, match=said):
        as_images(images)


def test_pixels_that_are_not_known_stay_so_in_a_batch():
    image = COLOURS / 255
    image[1, 1, 1] = np.nan
    found = as_images([image, COLOURS])
    assert np.isnan(found).sum() == 1
    assert np.nanmax(np.abs(found[0] - COLOURS)) == 0
    assert np.array_equal(found[1], COLOURS)
    assert np.array_equal(np.isnan(as_images(image[None])), np.isnan(found[:1]))
