"""The schema of images, and what an answer about a patch may be."""

import base64
import io
import json

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from askwise import AskwiseError, AskwiseWarning
from askwise.data.images.patches import SKETCH, PatchLayout
from askwise.data.images.pictures import as_data_url
from askwise.data.images.schema import ImageSchema, schema_from_dict
from askwise.data.images.sketches import sketches
from askwise.session.row import Row

LAYOUT = PatchLayout(8, 12, 3, 4)
SCHEMA = ImageSchema.of_layout(LAYOUT)


def pictures(n=3, layout=LAYOUT, seed=0):
    shape = n, layout.height, layout.width, layout.channels
    return np.random.default_rng(seed).integers(0, 256, shape).astype(np.uint8)


def file_of(pixels, kind="PNG"):
    file = io.BytesIO()
    Image.fromarray(pixels.squeeze()).save(file, kind)
    return file.getvalue()


def told(schema, answers):
    row = Row(schema)
    row.put({name: schema.column(name).parse(value) for name, value in answers.items()})
    return row


# The schema


@pytest.mark.parametrize("sketch", [False, True])
def test_a_schema_comes_back_from_json_as_it_was(sketch):
    layout = PatchLayout(8, 12, 1, 4, sketch=sketch)
    schema = ImageSchema.of_layout(layout, {"r1c2": 5, "r2c3": 0.5})
    again = schema_from_dict(json.loads(json.dumps(schema.to_dict())))
    assert isinstance(again, ImageSchema)
    assert again == schema
    assert again.layout == layout
    assert again.space.costs == (1, 5, 1, 1, 1, 0.5)
    assert again.free == schema.free == ((SKETCH,) if sketch else ())


def test_a_sketch_has_no_price():
    with pytest.warns(AskwiseWarning, match="the price of 'sketch' is ignored"):
        schema = ImageSchema.of_layout(PatchLayout(8, 8, 3, 4, sketch=True), {SKETCH: 2})
    assert schema.space.costs == (1, 1, 1, 1)


def test_a_price_of_a_patch_that_is_not_there_is_refused():
    with pytest.raises(AskwiseError, match=r"r9c9"):
        ImageSchema.of_layout(LAYOUT, {"r9c9": 2})


def test_a_question_says_where_its_patch_is():
    assert "row 2" in SCHEMA.question_wording("r2c3").text
    assert "column 3" in SCHEMA.question_wording("r2c3").text


# Rows of images


def test_encoded_images_are_their_pixels_channel_by_channel():
    images = pictures()
    rows = SCHEMA.encode(images)
    assert rows.x.dtype == torch.uint8
    assert rows.present.all()
    assert np.array_equal(rows.x.numpy().reshape(3, 3, 8, 12), images.transpose(0, 3, 1, 2))
    assert all(np.array_equal(SCHEMA.image(x), image) for x, image in zip(rows.x.numpy(), images, strict=True))


def test_a_patch_with_a_pixel_that_is_not_known_is_absent_and_zero():
    images = pictures().astype(float)
    images[1, 5, 9, 0] = np.nan
    rows = SCHEMA.encode(images)
    lines, columns = LAYOUT.window(5)
    expected = pictures()
    expected[1, lines, columns] = 0
    assert rows.present.sum(1).tolist() == [6, 5, 6]
    assert not rows.present[1, 5]
    assert torch.equal(rows.available, rows.present)
    assert np.array_equal(rows.x.numpy().reshape(3, 3, 8, 12), expected.transpose(0, 3, 1, 2))


def test_a_sketch_of_an_image_with_holes_is_absent_too():
    """Its lines would tell where the holes are, and what lies beside them."""
    layout = PatchLayout(8, 12, 3, 4, sketch=True)
    images = pictures(layout=layout).astype(float)
    images[1, 0, 0, 0] = np.nan
    rows = ImageSchema.of_layout(layout).encode(images)
    assert rows.present[:, -1].tolist() == [True, False, True]
    assert not rows.x[1, layout.n_pixels :].any()
    assert rows.available.shape == (3, 6)
    assert np.array_equal(rows.x[0, layout.n_pixels :].numpy(), sketches(pictures())[0].ravel())


# Answers


@settings(max_examples=15, deadline=None)
@given(order=st.permutations(range(6)), count=st.integers(0, 6), sketch=st.booleans())
def test_patches_told_one_by_one_make_the_row_of_the_image_that_lacks_the_others(order, count, sketch):
    layout = PatchLayout(8, 12, 3, 4, sketch=sketch)
    schema = ImageSchema.of_layout(layout)
    (image,) = pictures(1, layout)
    holes = np.full(image.shape, np.nan)
    for i in order[:count]:
        holes[layout.window(i)] = image[layout.window(i)]
    row = told(schema, {layout.names[i]: image[layout.window(i)] for i in order[:count]})
    encoded = schema.encode(holes[None])
    assert np.array_equal(row.x[:, : layout.n_pixels], encoded.x[:, : layout.n_pixels].numpy())
    assert np.array_equal(row.present[:, : layout.n_patches], encoded.present[:, : layout.n_patches].numpy())


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize(
    "given_as",
    [
        lambda p: p,
        lambda p: p.tolist(),
        lambda p: p / 255,
        lambda p: (p / 255).tolist(),
        lambda p: p.astype(np.int64),
        lambda p: Image.fromarray(p.squeeze()),
        file_of,
        lambda p: bytearray(file_of(p)),
        lambda p: file_of(p, "BMP"),
        as_data_url,
        lambda p: as_data_url(p).replace("image/png", "image/webp"),
    ],
)
def test_a_picture_may_be_given_in_many_forms_and_is_kept_in_one(channels, given_as):
    column = ImageSchema.of_layout(PatchLayout(8, 8, channels, 4)).columns[0]
    pixels = pictures(1, PatchLayout(4, 8, channels, 4))[0, :, :4]
    kept = column.parse(given_as(pixels))
    assert kept.startswith("data:image/png;base64,")
    assert column.parse(kept) == kept
    assert np.array_equal(column.pixels(kept), pixels)


def test_a_grey_picture_is_taken_for_one_in_colours_and_the_other_way_round():
    grey = np.arange(16, dtype=np.uint8).reshape(4, 4)
    colours = SCHEMA.columns[0].pixels(grey)
    assert np.array_equal(colours, np.repeat(grey[..., None], 3, 2))
    one = ImageSchema.of_layout(PatchLayout(8, 8, 1, 4)).columns[0]
    assert np.array_equal(one.pixels(Image.fromarray(colours))[..., 0], grey)


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_a_missing_picture_is_none(missing):
    assert SCHEMA.columns[0].parse(missing) is None


def test_a_sketch_that_is_told_stands_behind_the_pixels():
    layout = PatchLayout(8, 12, 3, 4, sketch=True)
    lines = np.random.default_rng(0).integers(0, 2, (8, 12)).astype(np.uint8) * 255
    row = told(ImageSchema.of_layout(layout), {SKETCH: lines})
    assert np.array_equal(row.x[0, layout.n_pixels :], lines.ravel())
    assert not row.x[0, : layout.n_pixels].any()
    assert row.present.tolist() == [[False] * 6 + [True]]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (np.zeros((5, 4, 3), dtype=np.uint8), r"was given one of 5 x 4 pixels"),
        (Image.new("RGB", (7, 4)), r"was given one of 4 x 7 pixels"),
        (file_of(np.zeros((9, 4, 3), dtype=np.uint8)), r"was given one of 9 x 4 pixels"),
        (np.zeros((4, 4, 4), dtype=np.uint8), r"an array of uint8 \(4, 4, 4\), no picture"),
        (np.full((4, 4, 3), 256), "numbers from 256 to 256 as int64"),
        (np.full((4, 4, 3), -1), "numbers from -1 to -1"),
        (np.full((4, 4, 3), 7.0), "numbers from 7 to 7 as float64"),
        (np.full((4, 4, 3), np.nan), "not known everywhere"),
        (np.zeros((4, 4, 3), dtype=bool), "an array of bool"),
        ("cat.png", "'cat.png'"),
        ("data:image/png;base64,####", "no picture"),
        ("data:text/html;base64,AAAA", "no picture"),
        (b"", "no picture"),
        (b"GIF89a", "no picture"),
        ([[1, 2], [3]], "no picture"),
        (7, "7"),
    ],
)
def test_what_is_no_picture_of_that_size_is_refused(value, said):
    with pytest.raises(AskwiseError, match=rf"'r1c1' takes a picture of 4 x 4 pixels and 3 channels.*{said}"):
        SCHEMA.columns[0].parse(value)


@settings(max_examples=60, deadline=None)
@given(
    kind=st.sampled_from(["PNG", "JPEG", "WEBP", "BMP", "GIF"]),
    cut=st.integers(0, 200),
    changes=st.lists(st.tuples(st.integers(0, 120), st.integers(0, 255)), max_size=4),
)
def test_a_damaged_file_is_refused_or_read_and_never_anything_else(kind, cut, changes):
    data = bytearray(file_of(pictures(1)[0, :4, :4], kind))
    for place, value in changes:
        data[place % len(data)] = value
    try:
        kept = SCHEMA.columns[0].parse(bytes(data[: len(data) - cut]))
    except AskwiseError:
        return
    assert SCHEMA.columns[0].pixels(kept).shape == (4, 4, 3)


def test_a_small_file_of_a_huge_picture_is_refused_by_its_size():
    huge = io.BytesIO()
    Image.new("L", (9000, 9000)).save(huge, "PNG")
    with pytest.raises(AskwiseError, match="9000 x 9000"):
        SCHEMA.columns[0].parse(huge.getvalue())


def test_a_png_that_carries_more_than_its_pixels_is_kept_as_its_pixels_only():
    pixels, file = pictures(1)[0, :4, :4], io.BytesIO()
    about = PngInfo()
    about.add_text("about", "x" * 500_000)
    Image.fromarray(pixels).save(file, "PNG", pnginfo=about)
    long = f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"
    assert SCHEMA.columns[0].parse(long) == as_data_url(pixels)


def test_a_shorter_png_is_kept_as_it_came_and_what_only_says_it_is_one_is_not():
    grey = np.full((4, 4), 90, dtype=np.uint8)
    short = as_data_url(grey[..., None])
    assert SCHEMA.columns[0].parse(short) == short
    other = f"data:image/png;base64,{base64.b64encode(file_of(grey, 'GIF')).decode()}"
    assert SCHEMA.columns[0].parse(other) == as_data_url(np.repeat(grey[..., None], 3, 2))


def test_grey_images_are_coloured_for_a_model_of_colours_as_in_a_session():
    grey = pictures()[..., :1]
    assert torch.equal(SCHEMA.encode(grey).x, SCHEMA.encode(grey.repeat(3, 3)).x)
    patch = {"r1c1": grey[0, :4, :4]}
    assert np.array_equal(told(SCHEMA, patch).x.reshape(3, 8, 12)[:, :4, :4], grey[0, :4, :4, 0][None].repeat(3, 0))
