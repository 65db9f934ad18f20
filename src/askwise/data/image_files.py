"""Reading images: a folder with a sub-folder for each class, a table of paths and labels, or one file of many."""

from __future__ import annotations

import io
import warnings
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, cpu_count, delayed

from askwise.errors import AskwiseError, AskwiseWarning, listed, unknown_name

Array = np.ndarray[Any, Any]

IMAGE_TYPES = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".tif", ".tiff", ".gif")
# Fewer are decoded before other processes have started.
WORTH_WORKERS = 500
# The tag of EXIF that says how an image is turned, and the values in which width and height change places.
ORIENTATION, TURNED = 0x0112, (5, 6, 7, 8)
# What an image is cut and scaled to where sizes differ and none is given.
USUAL_SIZE = 224
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
    folder, and one of labels, by default those called "path" and "label". An npz file has either `images` and `y`, or
    JPEG or PNG bytes joined in `jpeg` and cut at `offsets`, with `y` and, where it has them, the names `classes` and a
    `split` ("train", "test", ...) of which one can be taken.

    size: images are scaled so that the shorter side has it, and cut to a square around the middle, or to (height,
    width); by default they stay as they are, or where sizes differ become squares of 224, with a warning.
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
    found = _converted(_opened(Path(path), str(path)), "L" if channels == 1 else "RGB", str(path))
    return _fitted(found, height, width).reshape(height, width, channels)


def _folder(path: Path) -> tuple[list[Path], list[str]]:
    classes = sorted(p for p in path.iterdir() if p.is_dir() and not p.name.startswith("."))
    found = [(file, folder.name) for folder in classes for file in sorted(folder.rglob("*")) if _is_image(file)]
    if not classes:
        here = sum(_is_image(file) for file in path.iterdir())
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


def _is_image(path: Path) -> bool:
    return path.suffix.lower() in IMAGE_TYPES and path.is_file() and not path.name.startswith(".")


def _table(path: Path, image_column: str | None, label_column: str | None) -> tuple[list[Path], list[Any]]:
    from askwise.data.files import read_table

    frame = read_table(path)
    columns = [image_column or "path", label_column or "label"]
    given = {"image_column": image_column, "label_column": label_column}
    for column, option in zip(columns, given, strict=True):
        if column not in frame.columns:
            hint = f"; name it with {option}=" if given[option] is None else ""
            raise AskwiseError(f"{unknown_name(f'column of {path}:', column, frame.columns)}{hint}")
    lost = frame[columns].isna().any(axis=1)
    if lost.any():
        raise AskwiseError(f"{path} has no path or no label in row {int(lost.to_numpy().argmax()) + 1}; fill it in")
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
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise AskwiseError(f"{path} can't be read as an npz file without pickles: {error}") from error
    packed = {"jpeg", "offsets", "y"} <= set(held)
    if not packed and not {"images", "y"} <= set(held):
        raise AskwiseError(
            f"{path} has the arrays {listed(held)}; it needs images and y, or jpeg, offsets and y (see read_images)"
        )
    there = len(held["offsets"]) - 1 if packed else len(held["images"])
    if held["y"].shape != (there,):
        raise AskwiseError(f"{path} has {there} images, and y has the shape {held['y'].shape}; give a label for each")
    try:
        labels = held["classes"][held["y"]] if "classes" in held else held["y"]
    except IndexError as error:
        raise AskwiseError(f"y in {path} must be positions in `classes`, which has {len(held['classes'])}") from error
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
    found = []
    jobs = Parallel(n_jobs=count, return_as="generator")(
        delayed(_each)(what[step], sources[step], size) for step in steps
    )
    for i, part in enumerate(jobs):
        found.append(part)
        if progress is not None:
            progress((i + 1) / len(steps))
    return Images(np.concatenate(found), labels, tuple(sources))


def _common_size(what: Sequence[Path | bytes], sources: Sequence[str]) -> int | None:
    """None where all have one size already; looking at the headers takes little."""
    sizes = {_shown_size(_opened(one, source)) for one, source in zip(what, sources, strict=True)}
    if len(sizes) == 1:
        return None
    small, large = (f"{height} x {width}" for width, height in (min(sizes), max(sizes)))
    warnings.warn(
        f"the images have {len(sizes)} sizes, as {small} and {large} pixels: each is scaled and cut to {USUAL_SIZE} x "
        f"{USUAL_SIZE}; give a size to choose another",
        AskwiseWarning,
        stacklevel=5,
    )
    return USUAL_SIZE


def _shown_size(image: Any) -> tuple[int, int]:
    """Width and height as it is to be seen: a camera held upright writes that beside the pixels."""
    width, height = image.size
    # Of a PNG that would decode all of it, and cameras write none.
    turned = image.format in ("JPEG", "MPO") and image.getexif().get(ORIENTATION) in TURNED
    return (height, width) if turned else (width, height)


def _each(what: Sequence[Path | bytes], sources: Sequence[str], size: Size | None) -> Array:
    found = []
    for one, source in zip(what, sources, strict=True):
        image = _converted(_opened(one, source), "RGB", source)
        found.append(np.asarray(image) if size is None else _fitted(image, *_sides(size)))
    return np.stack(found)


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

    shape = *_sides(size), images.shape[3]
    return np.stack([_fitted(Image.fromarray(image.squeeze()), *shape[:2]).reshape(shape) for image in images])


def _converted(image: Any, mode: str, source: str) -> Any:
    """An image decoded and as it is to be seen, in grey ("L") or in colours ("RGB")."""
    from PIL import ImageOps

    try:
        return ImageOps.exif_transpose(image).convert(mode)
    except (OSError, ValueError, SyntaxError) as error:
        raise AskwiseError(f"the image {source} can't be read: {error}; mend it or leave it out") from error


def _opened(what: Path | bytes, source: str) -> Any:
    try:
        from PIL import Image
    except ImportError as error:
        raise AskwiseError("reading images needs pillow; install it: pip install 'askwise[image]'") from error

    try:
        return Image.open(io.BytesIO(what) if isinstance(what, bytes) else what)
    except (OSError, ValueError, Image.DecompressionBombError) as error:
        raise AskwiseError(f"the image {source} can't be read: {error}; mend it or leave it out") from error


def _fitted(image: Any, height: int, width: int) -> Array:
    from PIL import ImageOps

    return np.asarray(ImageOps.fit(image, (width, height)))
