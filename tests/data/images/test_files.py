"""Reading images from a folder, a table or one file of many."""

import io

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from askwise import AskwiseError, AskwiseWarning
from askwise.data.images.files import Images, read_image, read_images


def picture(seed=0, height=8, width=8):
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3)).astype(np.uint8)


def as_bytes(pixels, kind="PNG"):
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, kind)
    return file.getvalue()


def write(path, pixels, **more):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path, **more)


@pytest.fixture
def folder(tmp_path):
    for i, name in enumerate(["cat/a.png", "cat/more/b.PNG", "dog/c.bmp"]):
        write(tmp_path / "pets" / name, picture(i))
    (tmp_path / "pets" / "dog" / "notes.txt").write_text("no image")
    (tmp_path / "pets" / "dog" / "._c.png").write_bytes(b"no image either")
    (tmp_path / "pets" / ".hidden").mkdir()
    return tmp_path / "pets"


def make_npz(path, n=4, **more):
    parts = [as_bytes(picture(i)) for i in range(n)]
    return packed(path, parts, y=np.arange(n) % 2, **more)


def packed(path, parts, **more):
    np.savez(path, jpeg=np.frombuffer(b"".join(parts), np.uint8), offsets=np.cumsum([0, *map(len, parts)]), **more)
    return path


# What is read


def test_a_folder_gives_the_images_of_its_sub_folders_with_their_names(folder):
    found = read_images(folder)
    assert np.array_equal(found.images, np.stack([picture(i) for i in range(3)]))
    assert found.images.dtype == np.uint8
    assert found.labels.tolist() == ["cat", "cat", "dog"]
    assert [source[len(str(folder)) :] for source in found.sources] == ["/cat/a.png", "/cat/more/b.PNG", "/dog/c.bmp"]
    assert repr(found) == "3 images of 8 x 8, 2 labels"


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_table_names_paths_from_its_own_folder(folder, kind):
    frame = pd.DataFrame({"path": ["dog/c.bmp", "cat/a.png"], "label": [1.5, 2.5], "other": ["x", "y"]})
    path = folder / f"list.{kind}"
    frame.to_csv(path, index=False) if kind == "csv" else frame.to_parquet(path)
    found = read_images(path)
    assert np.array_equal(found.images, np.stack([picture(2), picture(0)]))
    assert found.labels.tolist() == [1.5, 2.5]


def test_the_columns_of_a_table_may_have_other_names(folder):
    pd.DataFrame({"file": ["cat/a.png"], "kind": ["tabby"]}).to_csv(folder / "list.csv", index=False)
    found = read_images(folder / "list.csv", image_column="file", label_column="kind")
    assert found.labels.tolist() == ["tabby"]


def test_an_npz_file_of_packed_images_is_decoded(tmp_path):
    found = read_images(make_npz(tmp_path / "p.npz"))
    assert np.array_equal(found.images, np.stack([picture(i) for i in range(4)]))
    assert found.labels.tolist() == [0, 1, 0, 1]
    assert found.sources[2] == "p.npz[2]"


def test_an_npz_file_may_have_classes_names_and_splits(tmp_path):
    more = {
        "classes": np.array(["cat", "dog"]),
        "split": np.array(["train", "test", "train", "test"]),
        "filename": np.array(list("abcd")),
    }
    found = read_images(make_npz(tmp_path / "p.npz", **more), split="test")
    assert found.labels.tolist() == ["dog", "dog"]
    assert found.sources == ("b", "d")
    assert np.array_equal(found.images[1], picture(3))
    assert len(read_images(tmp_path / "p.npz")) == 4


@pytest.mark.parametrize("shape", [(5, 8, 8, 3), (5, 8, 8)])
def test_an_npz_file_of_arrays_is_taken_as_it_is(tmp_path, shape):
    images = np.random.default_rng(0).integers(0, 256, shape).astype(np.uint8)
    np.savez(tmp_path / "a.npz", images=images, y=np.arange(5))
    found = read_images(tmp_path / "a.npz")
    assert np.array_equal(found.images.reshape(shape), images)
    assert found.images.ndim == 4
    assert read_images(tmp_path / "a.npz", size=4).images.shape == (5, 4, 4, 3 if len(shape) == 4 else 1)


def test_grey_and_transparent_images_become_colours(tmp_path):
    write(tmp_path / "a" / "grey.png", picture()[..., 0])
    write(tmp_path / "b" / "clear.png", np.dstack([picture(), np.full((8, 8), 0, np.uint8)]))
    write(tmp_path / "b" / "full.png", np.dstack([picture(), np.full((8, 8), 255, np.uint8)]))
    images = read_images(tmp_path).images
    assert np.array_equal(images[0], np.repeat(picture()[..., :1], 3, 2))
    assert (images[1] == 255).all()
    assert np.array_equal(images[2], picture())


# Sizes


def test_images_of_other_sizes_are_scaled_and_cut_around_the_middle(tmp_path):
    wide = np.zeros((8, 24, 3), dtype=np.uint8)
    wide[:, 8:16] = 200
    write(tmp_path / "a" / "wide.png", wide)
    write(tmp_path / "b" / "tall.png", wide.transpose(1, 0, 2))
    assert (read_images(tmp_path, size=8).images == 200).all()
    assert read_images(tmp_path, size=(4, 12)).images.shape == (2, 4, 12, 3)
    with pytest.warns(AskwiseWarning, match=r"2 sizes, as 24 x 8 and 8 x 24 pixels.*size=\) chooses another"):
        assert read_images(tmp_path).images.shape == (2, 8, 8, 3)


@pytest.mark.parametrize(
    ("sides", "size"), [((40, 50, 9), 32), ((100, 110, 120), 96), ((2000, 900), 224), ((20, 30), 24)]
)
def test_images_of_several_sizes_become_squares_of_the_side_that_most_have(tmp_path, sides, size):
    for i, side in enumerate(sides):
        write(tmp_path / "ab"[i % 2] / f"{i}.png", picture(height=side, width=side + 3))
    with pytest.warns(AskwiseWarning, match=f"cut to {size} x {size};"):
        assert read_images(tmp_path).images.shape == (len(sides), size, size, 3)


def test_images_of_one_size_stay_as_they_are(tmp_path):
    write(tmp_path / "a" / "one.png", picture(height=6, width=10))
    assert np.array_equal(read_images(tmp_path).images[0], picture(height=6, width=10))


@pytest.mark.parametrize("channels", [1, 3])
def test_one_image_is_read_at_the_size_of_a_model(tmp_path, channels):
    write(tmp_path / "one.png", picture(height=20, width=30))
    assert read_image(tmp_path / "one.png", 8, 12, channels).shape == (8, 12, channels)


# Many


def test_several_processes_give_the_same_in_the_same_order(tmp_path):
    path, told = make_npz(tmp_path / "p.npz", n=230), []
    alone = read_images(path, size=6, workers=1)
    together = read_images(path, size=6, workers=2, progress=told.append)
    assert np.array_equal(alone.images, together.images)
    assert alone.sources == together.sources
    assert told == pytest.approx([1 / 3, 2 / 3, 1])


@pytest.mark.parametrize("index", [[2, 0], np.array([True, False, True]), slice(1, None)])
def test_some_of_the_images_are_taken_with_their_labels_and_sources(folder, index):
    found = read_images(folder)
    part = found.take(index)
    assert isinstance(part, Images)
    assert np.array_equal(part.images, found.images[index])
    assert part.labels.tolist() == found.labels[index].tolist()
    assert part.sources == tuple(np.array(found.sources)[index])


def test_pixels_in_an_npz_file_may_be_called_images_or_x(tmp_path):
    pixels = np.stack([picture(i) for i in range(3)])
    for name in ("images", "X"):
        np.savez(tmp_path / "p.npz", **{name: pixels}, y=np.arange(3))
        assert np.array_equal(read_images(tmp_path / "p.npz").images, pixels)


# What can't be read


def broken_images():
    jpeg = as_bytes(picture(height=64, width=64), "JPEG")
    return {"cut.jpg": jpeg[: len(jpeg) // 2], "text.png": b"hello", "empty.jpg": b""}


@pytest.mark.parametrize("name", broken_images())
def test_a_broken_image_is_named(folder, name):
    (folder / "dog" / name).write_bytes(broken_images()[name])
    said = rf"the image .*{name} can't be read: .*; mend it or leave it out"
    with pytest.raises(AskwiseError, match=said):
        read_images(folder, size=8)
    with pytest.raises(AskwiseError, match=said):
        read_image(folder / "dog" / name, 8, 8)


def test_all_broken_images_are_told_at_once(folder):
    for i in range(12):
        (folder / "dog" / f"bad{i:02d}.png").write_bytes(b"hello")
    with pytest.raises(AskwiseError, match=r"12 of 15 images can't be read:") as told:
        read_images(folder)
    lines = str(told.value).splitlines()
    assert [f"bad{i:02d}.png" in line for i, line in enumerate(lines[1:11])] == [True] * 10
    assert lines[11].strip() == "and 2 more"


def test_a_broken_image_in_an_npz_file_is_named_by_its_place(tmp_path):
    parts = [as_bytes(picture()), b"nothing", as_bytes(picture())]
    with pytest.raises(AskwiseError, match=r"the image p.npz\[1\] can't be read"):
        read_images(packed(tmp_path / "p.npz", parts, y=np.arange(3)))


def test_a_folder_must_have_images_in_sub_folders(tmp_path):
    with pytest.raises(AskwiseError, match="no file or folder"):
        read_images(tmp_path / "none")
    with pytest.raises(AskwiseError, match="has no sub-folders; put the images of each class"):
        read_images(tmp_path)
    write(tmp_path / "a.png", picture())
    with pytest.raises(AskwiseError, match="has no sub-folders, but 1 images"):
        read_images(tmp_path)
    with pytest.raises(AskwiseError, match="is one image; give a folder"):
        read_images(tmp_path / "a.png")
    (tmp_path / "cat").mkdir()
    with pytest.raises(AskwiseError, match=r"no images in the sub-folders .*'cat'.*types: .jpg"):
        read_images(tmp_path)
    write(tmp_path / "dog" / "a.png", picture())
    with pytest.raises(AskwiseError, match=r"sub-folder 'cat' .* has no images; fill it or remove it"):
        read_images(tmp_path)


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        ({"file": ["cat/a.png"], "label": [1]}, r"unknown column of .*'path'.*name it with image_column="),
        ({"path": ["cat/a.png"], "lable": [1]}, r"'label'; did you mean 'lable'.*name it with label_column="),
        ({"path": ["cat/a.png", None], "label": [1, 2]}, r"'path' of .* is empty in row 2, the first below"),
        ({"path": ["a.png"] * 3, "label": [None, "b", None]}, r"'label' of .* is empty in rows 1, 3, the first below"),
        (
            {"path": ["cat/a.png", "cat/z.png"], "label": [1, 2]},
            r"names 1 images that are not there.*z\.png",
        ),
    ],
)
def test_a_table_that_does_not_fit_is_refused(folder, frame, said):
    pd.DataFrame(frame).to_csv(folder / "list.csv", index=False)
    with pytest.raises(AskwiseError, match=said):
        read_images(folder / "list.csv")


def test_an_npz_file_that_does_not_fit_is_refused(tmp_path):
    path = tmp_path / "p.npz"
    np.savez(path, pictures=np.zeros((2, 4, 4, 3)), y=np.zeros(2))
    with pytest.raises(AskwiseError, match=r"has the arrays 'pictures', 'y'; it needs images and y, or jpeg"):
        read_images(path)
    np.savez(path, images=np.zeros((2, 3, 4, 4)), y=np.zeros(2))
    with pytest.raises(AskwiseError, match=r"channels last; put them last: images.transpose\(0, 2, 3, 1\)"):
        read_images(path)
    np.savez(path, images=np.zeros((2, 4, 4, 3)), y=np.zeros(3))
    with pytest.raises(AskwiseError, match=r"`y` in .* must be one for each of the 2 images; it has the shape \(3,\)"):
        read_images(path)
    np.savez(path, images=np.zeros((2, 4, 4, 3)), y=np.array([{}, {}]))
    with pytest.raises(AskwiseError, match="can't be read as an npz file without pickles"):
        read_images(path)
    path.write_bytes(make_npz(tmp_path / "whole.npz").read_bytes()[:-40])
    with pytest.raises(AskwiseError, match="can't be read as an npz file"):
        read_images(path)
    make_npz(path, classes=np.array(["cat"]))
    with pytest.raises(AskwiseError, match=r"positions in `classes`, whole numbers from 0 to 0 "):
        read_images(path)


def test_a_split_that_is_not_there_is_refused(folder, tmp_path):
    path = make_npz(tmp_path / "p.npz")
    with pytest.raises(AskwiseError, match="has no array `split`, so 'test' can't be taken"):
        read_images(path, split="test")
    make_npz(path, split=np.array(["train", "train", "test", "test"]))
    with pytest.raises(AskwiseError, match=r"unknown split of .*'tset'; did you mean 'test'"):
        read_images(path, split="tset")
    with pytest.raises(AskwiseError, match="only an npz file has splits"):
        read_images(folder, split="test")


def test_a_photo_of_a_camera_held_upright_is_turned(tmp_path):
    wide = np.zeros((16, 32, 3), dtype=np.uint8)
    wide[:, :16] = 200
    exif = Image.Exif()
    exif[0x0112] = 6
    for label in ("a", "b"):
        (tmp_path / label).mkdir()
        Image.fromarray(wide).save(tmp_path / label / "photo.jpg", exif=exif, quality=100)
    found = read_images(tmp_path)
    assert found.images.shape == (2, 32, 16, 3)
    assert found.images[0, :12].min() > 150
    assert found.images[0, -12:].max() < 50


def test_one_turned_png_among_upright_ones_is_turned(tmp_path):
    tall, wide = picture(height=12, width=8), picture(1, height=8, width=12)
    write(tmp_path / "a" / "0.png", tall)
    exif = Image.Exif()
    exif[0x0112] = 6
    write(tmp_path / "b" / "turned.png", wide, exif=exif)
    assert np.array_equal(read_images(tmp_path).images, np.stack([tall, np.rot90(wide, -1)]))


def put_exif_last(path):
    """Move what a PNG says of its turn behind its pixels, before the last chunk (of 12 bytes), as some programs do."""
    data = path.read_bytes()
    at = data.index(b"eXIf") - 4
    chunk = data[at : at + 12 + int.from_bytes(data[at : at + 4], "big")]
    rest = data.replace(chunk, b"")
    path.write_bytes(rest[:-12] + chunk + rest[-12:])


def test_an_image_that_is_turned_behind_its_pixels_is_named_where_sizes_differ_by_it(tmp_path):
    for i in range(3):
        write(tmp_path / "a" / f"{i}.png", picture(height=8, width=12))
    exif = Image.Exif()
    exif[0x0112] = 6
    write(tmp_path / "b" / "turned.png", picture(height=8, width=12), exif=exif)
    put_exif_last(tmp_path / "b" / "turned.png")
    with pytest.raises(AskwiseError, match=r"turned\.png is 8 x 12 pixels as it is to be seen, and others are 12 x 8"):
        read_images(tmp_path)
    assert read_images(tmp_path, size=8).images.shape == (4, 8, 8, 3)


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({"y": np.array([0, -1]), "classes": np.array(["cat", "dog"])}, r"from 0 to 1 \(it goes from -1 to 0\)"),
        ({"y": np.array([0, 2]), "classes": np.array(["cat", "dog"])}, r"from 0 to 1 \(it goes from 0 to 2\)"),
        ({"y": np.array([0.0, 1.0]), "classes": np.array(["cat", "dog"])}, r"positions in `classes`.*of float64"),
        ({"y": np.array([True, False]), "classes": np.array(["cat", "dog"])}, r"positions in `classes`.*of bool"),
        ({"classes": np.array("cat")}, r"`classes` in .* must be a row of names; it has the shape \(\)"),
        ({"split": np.array(list("aab"))}, r"`split` in .* must be one for each of the 2 images; it has .*\(3,\)"),
        ({"filename": np.array(["a"])}, r"`filename` in .* must be one for each of the 2 images; it has .*\(1,\)"),
        ({"images": np.uint8(3)}, r"`images` in .* must be \(n, height, width\), .*; it has the shape \(\)"),
        ({"images": np.zeros((2, 4), np.uint8)}, r"`images` in .*\(2, 4\)"),
        ({"images": np.zeros((2, 4, 4, 5), np.uint8)}, r"`images` in .*\(2, 4, 4, 5\)"),
        ({"images": np.zeros((0, 4, 4), np.uint8), "y": np.zeros(0)}, r"`images` in .*\(0, 4, 4\)"),
        ({"jpeg": np.zeros(8, np.uint8), "offsets": np.array([0.0, 4.0, 8.0])}, r"`offsets` in .*whole.*float64"),
        ({"jpeg": np.zeros(8, np.uint8), "offsets": np.array([0, 4, 9])}, r"`offsets` in .*numbers up to 8"),
        ({"jpeg": np.zeros(8, np.uint8), "offsets": np.array([0, 4, 2])}, r"`offsets` in .* must be rising"),
        ({"jpeg": np.zeros(8, np.uint8), "offsets": np.int64(0)}, r"`offsets` in .*the shape \(\)"),
        ({"jpeg": np.zeros(8, np.uint8), "offsets": np.zeros(0, int), "y": np.zeros(0)}, r"`offsets` in .*\(0,\)"),
        ({"jpeg": np.zeros(8), "offsets": np.array([0, 4, 8])}, r"`jpeg` in .* must be the bytes.*float64"),
    ],
)
def test_an_npz_file_whose_arrays_do_not_fit_together_is_refused(tmp_path, arrays, said):
    np.savez(tmp_path / "p.npz", **{"images": np.zeros((2, 4, 4, 3), np.uint8), "y": np.arange(2), **arrays})
    with pytest.raises(AskwiseError, match=said):
        read_images(tmp_path / "p.npz", split="a" if "split" in arrays else None)


def test_labels_saved_as_objects_are_told_how_to_be_saved(tmp_path):
    y = np.array(["a", "b"], dtype=object)
    np.savez(tmp_path / "x.npz", images=np.zeros((2, 8, 8, 3), dtype=np.uint8), y=y)
    with pytest.raises(AskwiseError, match=r"save texts as y.astype\(str\)"):
        read_images(tmp_path / "x.npz")
