"""Reading images: a folder with a sub-folder for each class, a table of paths and labels, or one file of many."""

from __future__ import annotations

import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, cpu_count, delayed

from askwise.core.arrays import Array
from askwise.core.errors import AskwiseError, AskwiseWarning, listed, unknown_name
from askwise.data.images.pictures import NoPicture, as_seen, if_colours_first, open_picture, shown_size

IMAGE_TYPES = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".tif", ".tiff", ".gif")
# Fewer are decoded before other processes have started.
WORTH_WORKERS = 500
# Of broken pictures, by name.
MOST_TOLD = 10
# The most that images are scaled and cut to where sizes differ and none is given.
LARGEST_SIZE = 224
# A side of squares, or height and width.
Size = int | tuple[int, int]


@dataclass(frozen=True, repr=False)
class Images:
    """Images (n, height, width, 3) of one size, uint8, with a label each and where each comes from."""

    images: Array
    labels: Array
    sources: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.images)

    def __repr__(self) -> str:
        n, height, width, _ = self.images.shape
        return f"{n} images of {height} x {width}, {len(np.unique(self.labels))} labels"

    def take(self, index: Any) -> Images:
        """Some of the images, by a mask or by their positions."""
        positions = np.arange(len(self))[index]
        return Images(self.images[index], self.labels[index], tuple(self.sources[i] for i in positions))


def read_images(
    path: str | Path,
    size: Size | None = None,
    *,
    split: str | None = None,
    image_column: str | None = None,
    label_column: str | None = None,
    workers: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> Images:
    """The images at a path, decoded by several processes.

    A folder has one sub-folder for each class. A CSV or Parquet table has a column of paths, which start from its own
    folder, and one of labels, by default those called "path" and "label". An npz file has either `images` (or `X`) and
    `y`, or JPEG or PNG bytes joined in `jpeg` and cut at `offsets`, with `y` and, where it has them, the names
    `classes` and a `split` ("train", "test", ...) of which one can be taken. Files are read as a viewer shows them:
    turned as their camera says, clear parts white, 16 bits as 8.

    size: images are scaled so that the shorter side has it, and cut to a square around the middle, or to (height,
    width); by default they stay as they are, or where sizes differ become squares, with a warning: of the side that
    most images have at least, 224 at most.
    """
    path = Path(path)
    if not path.exists():
        raise AskwiseError(f"there is no file or folder {path}")
    if split is not None and path.suffix.lower() != ".npz":
        raise AskwiseError(f"only an npz file has splits, and {path} is none: leave split={split!r} out")
    if path.is_dir():
        return _decode_files(*_folder(path), size, workers, progress)
    if path.suffix.lower() == ".npz":
        return _npz(path, size, split, workers, progress)
    if path.suffix.lower() in IMAGE_TYPES:
        raise AskwiseError(f"{path} is one image; give a folder with a sub-folder of images for each class, or a table")
    return _decode_files(*_table(path, image_column, label_column), size, workers, progress)


def read_image(path: str | Path, height: int, width: int, channels: int = 3) -> Array:
    """One image file at a size, (height, width, channels): scaled so that it covers it, and cut around the middle."""
    found = _seen(Path(path), str(path), channels)
    return _fitted(found, height, width).reshape(height, width, channels)


def _folder(path: Path) -> tuple[list[Path], list[str]]:
    classes = sorted(p for p in path.iterdir() if p.is_dir() and not p.name.startswith("."))
    found = [(file, folder.name) for folder in classes for file in sorted(folder.rglob("*")) if is_image(file)]
    if not classes:
        here = sum(is_image(file) for file in path.iterdir())
        raise AskwiseError(
            f"{path} has no sub-folders{f', but {here} images' if here else ''}; put the images of each class into a "
            "sub-folder with the name of the class"
        )
    if not found:
        raise AskwiseError(
            f"there are no images in the sub-folders of {path} ({listed([c.name for c in classes], most=5)}); types: "
            f"{', '.join(IMAGE_TYPES)}"
        )
    empty = [c.name for c in classes if not any(label == c.name for _, label in found)]
    if empty:
        raise AskwiseError(f"the sub-folder {empty[0]!r} of {path} has no images; fill it or remove it")
    return [file for file, _ in found], [label for _, label in found]


def is_image(path: Path) -> bool:
    """Whether it is an image by its name, and not a hidden file."""
    return path.suffix.lower() in IMAGE_TYPES and path.is_file() and not path.name.startswith(".")


def _table(path: Path, image_column: str | None, label_column: str | None) -> tuple[list[Path], list[Any]]:
    from askwise.data.tables.files import read_table

    frame = read_table(path)
    columns = [image_column or "path", label_column or "label"]
    given = {"image_column": image_column, "label_column": label_column}
    for column, option in zip(columns, given, strict=True):
        if column not in frame.columns:
            hint = f"; name it with {option}=" if given[option] is None else ""
            raise AskwiseError(f"{unknown_name(f'column of {path}:', column, frame.columns)}{hint}")
    for column in columns:
        lost = np.flatnonzero(frame[column].isna())
        if len(lost):
            some = listed((lost + 1).tolist(), most=5)
            what = f"row{'s' if len(lost) > 1 else ''} {some}, the first below the header being 1"
            raise AskwiseError(f"{column!r} of {path} is empty in {what}; fill it in, or drop what has none")
    files = [path.parent / str(name) for name in frame[columns[0]]]
    missing = [file for file in files if not file.is_file()]
    if missing:
        raise AskwiseError(
            f"{path} names {len(missing)} images that are not there, {missing[0]} for one; paths start from its folder"
        )
    return files, frame[columns[1]].tolist()


def _npz(
    path: Path, size: Size | None, split: str | None, workers: int | None, progress: Callable[[float], None] | None
) -> Images:
    try:
        data = np.load(path, allow_pickle=False)
        held = {name: data[name] for name in data.files}
    except (ValueError, AttributeError, OSError, EOFError, zipfile.BadZipFile) as error:
        hint = "; save texts as y.astype(str)" if "Object arrays" in str(error) else ""
        raise AskwiseError(f"{path} can't be read as an npz file without pickles: {error}{hint}") from error
    if "X" in held and "images" not in held:
        held["images"] = held.pop("X")
    packed = {"jpeg", "offsets", "y"} <= set(held)
    if not packed and not {"images", "y"} <= set(held):
        raise AskwiseError(
            f"{path} has the arrays {listed(held)}; it needs images and y, or jpeg, offsets and y (see read_images)"
        )
    _check_arrays(path, held, packed)
    labels = held["classes"][held["y"]] if "classes" in held else held["y"]
    index = np.arange(len(labels))
    if split is not None:
        if "split" not in held:
            raise AskwiseError(f"{path} has no array `split`, so {split!r} can't be taken from it")
        parts = sorted(set(held["split"].tolist()))
        if split not in parts:
            raise unknown_name(f"split of {path}:", split, parts)
        index = np.flatnonzero(held["split"] == split)
    names = held["filename"] if "filename" in held else [f"{path.name}[{i}]" for i in range(len(labels))]
    sources = [str(names[i]) for i in index]
    if not packed:
        images = held["images"][index]
        images = images if images.ndim == 4 else images[..., None]
        return Images(_scaled(images, size, path), labels[index], tuple(sources))
    bytes_, cuts = held["jpeg"].tobytes(), held["offsets"]
    parts_: list[Path | bytes] = [bytes_[cuts[i] : cuts[i + 1]] for i in index]
    return _decoded(parts_, sources, labels[index], size, workers, progress)


def _check_arrays(path: Path, held: Mapping[str, Array], packed: bool) -> None:
    """Raise where the arrays of an npz file don't fit together."""

    def check(fits: bool, name: str, need: str) -> None:
        if not fits:
            array = held[name]
            raise AskwiseError(f"`{name}` in {path} must be {need}; it has the shape {array.shape}, of {array.dtype}")

    if packed:
        joined, cuts = held["jpeg"], held["offsets"]
        check(joined.ndim == 1 and joined.dtype == np.uint8, "jpeg", "the bytes of all images in a row, uint8")
        rising = cuts.ndim == 1 and len(cuts) > 1 and cuts.dtype.kind in "iu" and (cuts[1:] >= cuts[:-1]).all()
        inside = bool(rising and cuts[0] >= 0 and cuts[-1] <= len(joined))
        check(inside, "offsets", f"rising whole numbers up to {len(joined)}, where each image begins and the last ends")
        there = len(cuts) - 1
    else:
        shape = held["images"].shape
        fits = len(shape) == 3 or (len(shape) == 4 and shape[3] in (1, 3))
        need = f"(n, height, width), or that with 1 or 3 channels last{if_colours_first(shape)}"
        check(fits and 0 not in shape, "images", need)
        there = shape[0]
    for name in ("y", "split", "filename"):
        check(name not in held or held[name].shape == (there,), name, f"one for each of the {there} images")
    if "classes" in held:
        check(held["classes"].ndim == 1, "classes", "a row of names")
        y, count = held["y"], len(held["classes"])
        given = f" (it goes from {y.min()} to {y.max()})" if y.dtype.kind in "iu" else ""
        inside = bool(given and y.min() >= 0 and y.max() < count)
        check(inside, "y", f"positions in `classes`, whole numbers from 0 to {count - 1}{given}")


def _decode_files(
    files: Sequence[Path],
    labels: Sequence[Any],
    size: Size | None,
    workers: int | None,
    progress: Callable[[float], None] | None,
) -> Images:
    return _decoded(list(files), [str(f) for f in files], np.array(labels), size, workers, progress)


def _decoded(
    what: Sequence[Path | bytes],
    sources: Sequence[str],
    labels: Array,
    size: Size | None,
    workers: int | None,
    progress: Callable[[float], None] | None,
) -> Images:
    """Pictures, in files or as their bytes, at one size."""
    count = workers or (cpu_count() if len(what) >= WORTH_WORKERS else 1)
    if size is None:
        size = _common_size(what, sources)
    steps = [slice(start, start + 100) for start in range(0, len(what), 100)]
    found: list[Array | AskwiseError] = []
    jobs = Parallel(n_jobs=count, return_as="generator")(
        delayed(_each)(what[step], sources[step], size) for step in steps
    )
    for i, part in enumerate(jobs):
        found.extend(part)
        if progress is not None:
            progress((i + 1) / len(steps))
    _check_readable(found)
    images = [image for image in found if not isinstance(image, AskwiseError)]
    _check_one_size(images, sources)
    return Images(np.stack(images), labels, tuple(sources))


def _check_readable(found: Sequence[Array | AskwiseError]) -> None:
    """Tell of all broken pictures at once: thousands of files may have several."""
    broken = [error for error in found if isinstance(error, AskwiseError)]
    if len(broken) == 1:
        raise broken[0]
    if broken:
        some = "\n".join(f"  {error}" for error in broken[:MOST_TOLD])
        more = "" if len(broken) <= MOST_TOLD else f"\n  and {len(broken) - MOST_TOLD} more"
        raise AskwiseError(f"{len(broken)} of {len(found)} images can't be read:\n{some}{more}")


def _common_size(what: Sequence[Path | bytes], sources: Sequence[str]) -> int | None:
    """None where all have one size already; looking at the headers takes little. Broken ones are told of later."""
    found = []
    for one, source in zip(what, sources, strict=True):
        with suppress(AskwiseError):
            found.append(shown_size(_opened(one, source)))
    sizes = set(found)
    if len(sizes) <= 1:
        return None
    # What most images have at least, in steps that patches divide.
    side = min(LARGEST_SIZE, int(np.median([min(one) for one in found])))
    size = max(8, side // 32 * 32 if side >= 32 else side // 8 * 8)
    small, large = (f"{width} x {height}" for height, width in (min(sizes), max(sizes)))
    warnings.warn(
        f"the images have {len(sizes)} sizes, as {small} and {large} pixels: each is scaled and cut to {size} x "
        f"{size}; a size (--size, size=) chooses another",
        AskwiseWarning,
        stacklevel=5,
    )
    return size


def _check_one_size(images: Sequence[Array], sources: Sequence[str]) -> None:
    """Name the image that turned out to be of another size than the rest: a header may not tell how it is turned."""
    usual = Counter(image.shape for image in images).most_common(1)[0][0]
    odd = next((i for i, image in enumerate(images) if image.shape != usual), None)
    if odd is not None:
        sizes = [f"{width} x {height}" for height, width, _ in (images[odd].shape, usual)]
        raise AskwiseError(
            f"the image {sources[odd]} is {sizes[0]} pixels as it is to be seen, and others are {sizes[1]}; give a "
            "size, which all are scaled and cut to, or leave it out"
        )


def _each(what: Sequence[Path | bytes], sources: Sequence[str], size: Size | None) -> list[Array | AskwiseError]:
    """Each picture, or what is wrong with it."""
    found: list[Array | AskwiseError] = []
    for one, source in zip(what, sources, strict=True):
        try:
            image = _seen(one, source, 3)
            found.append(np.asarray(image) if size is None else _fitted(image, *_sides(size)))
        except AskwiseError as error:
            found.append(error)
    return found


def _sides(size: Size) -> tuple[int, int]:
    """Height and width."""
    return (size, size) if isinstance(size, int) else size


def _scaled(images: Array, size: Size | None, path: Path) -> Array:
    """Images that are pixels already, at a size."""
    if size is None or images.shape[1:3] == _sides(size):
        return images
    if images.dtype != np.uint8:
        raise AskwiseError(f"{path} holds images as {images.dtype}; only uint8 can be scaled, so give no size")
    from PIL import Image

    sides, channels = _sides(size), images.shape[3]
    planes = images[..., 0] if channels == 1 else images
    return np.stack([_fitted(Image.fromarray(image), *sides).reshape(*sides, channels) for image in planes])


def _seen(what: Path | bytes, source: str, channels: int) -> Any:
    try:
        return as_seen(_opened(what, source), channels)
    except NoPicture as error:
        raise _unreadable(source, error) from error


def _opened(what: Path | bytes, source: str) -> Any:
    try:
        return open_picture(what)
    except NoPicture as error:
        raise _unreadable(source, error) from error


def _unreadable(source: str, error: NoPicture) -> AskwiseError:
    return AskwiseError(f"the image {source} can't be read: {error.__cause__ or error}; mend it or leave it out")


def _fitted(image: Any, height: int, width: int) -> Array:
    from PIL import ImageOps

    return np.asarray(ImageOps.fit(image, (width, height)))
