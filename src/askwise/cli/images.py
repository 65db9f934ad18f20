"""Images as the commands read them: which paths hold them, with which labels, for training or for a model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from askwise.cli import tables
from askwise.cli.cases import Cases
from askwise.cli.common import Out
from askwise.cli.image_options import ImageOptions, ImageSourceOptions
from askwise.cli.progress import fraction_progress
from askwise.cli.table_options import TableOptions, column_names
from askwise.cli.target import TaskChoice, choose_task
from askwise.core.errors import AskwiseError

if TYPE_CHECKING:
    from askwise.data.images.files import Images
    from askwise.data.images.patches import PatchLayout

DEFAULT_TARGET = "label"
# The key of a model's card for the column that named its images.
IMAGE_COLUMN = "image_column"


def holds_images(path: Path, column: str | None) -> bool:
    """Whether cases at a path are images: a folder, an npz file, or a table with a column of paths."""
    from askwise.data.images.files import IMAGE_TYPES

    return column is not None or path.is_dir() or path.suffix.lower() in (".npz", *IMAGE_TYPES)


def is_table(path: Path) -> bool:
    """Whether a path is that of a table, by its name."""
    from askwise.data.tables.files import TABLE_TYPES, table_type

    return table_type(path) in TABLE_TYPES and not path.is_dir()


def stem(path: Path) -> str:
    """Return the name that a model of the images at a path gets."""
    return path.resolve().name if path.is_dir() else path.stem


def read_image_cases(out: Out, path: Path, table: TableOptions, options: ImageOptions) -> Cases:
    """Read labelled images to learn from. table: the options about labels, prices and the columns of a table."""
    from askwise.data.tables.files import read_costs

    costs = None if table.costs is None else read_costs(table.costs)
    _check_options(path, options, table.target)
    split_by = _read_split_by(path, table, options.images) if table.split_by or table.drop else None
    images = read_images(out, path, options, table.target, options.size)
    height, width = images.images.shape[1:3]
    questions = options.arguments(height, width, costs)
    target = table.target or DEFAULT_TARGET
    task, y = _read_labels(images, target, table.task, options.images is not None, out)
    card: dict[str, Any] = {"target": target, "data": path.resolve().name, "size": [height, width]}
    card |= {} if options.split is None else {"split": options.split}
    card |= {} if options.images is None else {IMAGE_COLUMN: options.images}
    file = "PHOTO" if path.suffix.lower() == ".npz" else images.sources[0]
    return Cases(
        images.images, y, task, questions, card, "image", split_by,
        ask_arguments=["--image", file, "-o", "way.png"], evaluate_arguments=_evaluate_arguments(path, options.split),
    )  # fmt: skip


def _evaluate_arguments(path: Path, split: str | None) -> Sequence[object]:
    """Return where other images to evaluate on may lie, for the commands to try next."""
    if path.is_dir():
        return ["FOLDER"]
    if split is not None:
        import numpy as np

        with np.load(path, allow_pickle=False) as arrays:
            parts = [str(part) for part in np.unique(arrays["split"]) if part != split]
        if parts:
            return [path, "--split", "test" if "test" in parts else parts[0]]
    return [f"FILE{path.suffix}"]


def _read_split_by(path: Path, table: TableOptions, column: str | None) -> Any:
    """Return the group of each row of a table of images; the columns of --drop must exist, but are not read anyway."""
    from askwise.data.tables.files import read_table

    frame = read_table(path)
    rest = frame.drop(columns=[name for name in (column, table.target) if name in frame.columns])
    split_by, rest = tables.split_groups(rest, table.split_by, "--split-by")
    tables.drop_columns(rest, column_names(table.drop, rest.columns), "--drop")
    return split_by


def _read_labels(images: Images, target: str, task: TaskChoice, from_table: bool, out: Out) -> tuple[str, Any]:
    """Return the task and the labels.

    Whole numbers that come with images are classes, however many, and so are the texts of a folder or an npz file.
    """
    import pandas as pd

    labels = pd.Series(images.labels, name=target)
    if task is TaskChoice.auto and (images.labels.dtype.kind in "iu" or (not from_table and labels.dtype.kind != "f")):
        task = TaskChoice.classification
    return choose_task(labels, task, out)


def read_images(
    out: Out, path: Path, source: ImageSourceOptions, target: str | None, size: int | tuple[int, int] | None = None
) -> Images:
    """Read the images at a path, with a bar while they are decoded."""
    from askwise.data.images import files

    _check_options(path, source, target)
    with fraction_progress(out, f"Reading {path.resolve().name}") as progress:
        return files.read_images(
            path, size, split=source.split, image_column=source.images, label_column=target, progress=progress
        )


def _check_options(path: Path, source: ImageSourceOptions, target: str | None) -> None:
    """Raise an error for options that do not belong to what is at the path."""
    if source.split is not None and path.suffix.lower() != ".npz":
        raise AskwiseError(f"--split takes a part of an .npz file, and {path} is none; leave it out")
    if not is_table(path):
        if source.images is not None:
            raise AskwiseError(f"--images names a column of a table, and {path} is none; leave it out")
        return
    if source.images is None:
        raise AskwiseError(f"{path} is a table; name its column with the paths of the images: --images COLUMN")
    if target is None:
        raise AskwiseError(f"{path} is a table, and nothing tells what to predict; name its column: --target COLUMN")


def read_images_for_model(
    out: Out, path: Path, source: ImageSourceOptions, target: str | None, estimator: Any
) -> tuple[Any, Any, tuple[str, ...]]:
    """Return images as a model takes them, their answers in its labels, and where each comes from."""
    import pandas as pd

    layout = patch_layout(estimator)
    assert layout is not None
    read = read_images(out, path, source, target, (layout.height, layout.width))
    # The model itself turns grey images into coloured ones.
    images = _to_grey(read.images) if read.images.shape[3] > layout.channels else read.images
    labels = pd.Series(read.labels, name=target or DEFAULT_TARGET)
    return images, tables.model_labels(labels, estimator.model_.task), read.sources


def _to_grey(images: Any) -> Any:
    import numpy as np
    from PIL import Image

    return np.stack([np.asarray(Image.fromarray(image).convert("L")) for image in images])[..., None]


def patch_layout(estimator: Any) -> PatchLayout | None:
    """Return how a model of images cuts them; None for a model of tables."""
    from askwise.data.images.schema import ImageSchema

    schema = estimator.model_.schema
    return schema.layout if isinstance(schema, ImageSchema) else None
