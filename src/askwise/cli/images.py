"""Images as the commands take them: which paths hold them, the options about them, and how they are read."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from askwise.cli import tables
from askwise.cli.cases import Cases
from askwise.cli.common import Out
from askwise.cli.progress import fraction_progress
from askwise.cli.target import TaskChoice, task_of
from askwise.core.errors import AskwiseError, unknown_name

if TYPE_CHECKING:
    from askwise.core.tasks import Task
    from askwise.data.images.files import Images
    from askwise.data.images.patches import PatchLayout

LABEL = "label"
# What the card of a model calls the column that named its images.
IMAGE_COLUMN = "image_column"
USUAL_PATCH = 16
# Of smaller images, patches of the usual size would be too few to choose among.
SMALLEST_SIDE = 64

ImageColumn = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="CASES is a table of images: the column with their paths, from its folder on."),
]
Part = Annotated[
    str | None, typer.Option(metavar="NAME", help="Images in an .npz with an array `split`: the part to take.")
]
Size = Annotated[
    int | None,
    typer.Option(
        min=2, metavar="N", help="Images: scale and cut each to N x N pixels; else as they are, if they have one size."
    ),
]
Patch = Annotated[
    int | None, typer.Option(min=1, metavar="N", help=f"Images: ask for patches of N x N pixels; {USUAL_PATCH} if not.")
]
Backbone = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Images: the network that sees them: small-cnn, small-vit, or a timm model."),
]
Pretrained = Annotated[
    bool, typer.Option("--pretrained", help="Images: begin with the weights that timm downloads for the backbone.")
]
Weights = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Images: begin with these weights of the timm backbone.")
]
Prior = Annotated[
    str | None, typer.Option(metavar="sketch", help="Images: what is known from the start, a sketch of the edges.")
]
DropUnknown = Annotated[
    bool,
    typer.Option("--drop-unknown", help="Images: a transformer sees only patches that are known; faster, few known."),
]
Augment = Annotated[
    str | None,
    typer.Option(
        metavar="WAYS",
        help="Images: how they are varied while learning: shift,zoom,flip, some of these, or none. Digits and letters "
        "are others when mirrored: shift,zoom.",
    ),
]
Layers = Annotated[int | None, typer.Option(min=1, metavar="N", help="Images: depth of our own backbones.")]


@dataclass(frozen=True)
class ImageOptions:
    """What the options say about images; each is empty where it was not given."""

    images: str | None = None
    split: str | None = None
    size: int | None = None
    patch: int | None = None
    backbone: str | None = None
    pretrained: bool = False
    weights: Path | None = None
    prior: str | None = None
    drop_unknown: bool = False
    layers: int | None = None
    augment: str | None = None

    def refuse(self, path: object) -> None:
        """Raise an error for an option that says something about images, where none were given."""
        for entry in fields(self):
            if getattr(self, entry.name):
                option = f"--{entry.name.replace('_', '-')}"
                raise AskwiseError(
                    f"{option} is about images, and {path} holds none; leave it out. A table of images needs --images "
                    "COLUMN, the column with their paths"
                )

    def check(self, hidden: int | None) -> None:
        """Tell before images are read what could not be built to see them."""
        from askwise.data.images.patches import SKETCH
        from askwise.networks.own_backbones import OWN, SLIP
        from askwise.networks.timm_backbone import TimmBackbone
        from askwise.training.variation import VARIATIONS

        if self.prior not in (None, SKETCH):
            raise unknown_name("--prior", self.prior, [SKETCH])
        for way in self._ways() or ():
            if way not in VARIATIONS:
                raise unknown_name("way to --augment", way, [*VARIATIONS, "none"])
        if self.drop_unknown and self.backbone in (None, "small-cnn"):
            raise AskwiseError(
                "--drop-unknown is for a transformer, and small-cnn is none; name one, as in --backbone small-vit"
            )
        if self.backbone in (None, *OWN):
            if self.pretrained or self.weights is not None:
                option = "--pretrained" if self.pretrained else "--weights"
                raise AskwiseError(f"{option} is for a model of timm; name one, as in --backbone resnet18")
            return
        assert self.backbone is not None
        if difflib.get_close_matches(self.backbone, OWN, n=1, cutoff=SLIP):
            raise AskwiseError(f"{unknown_name('backbone', self.backbone, OWN)}, or the name of a timm model")
        for option, size in (("--hidden", hidden), ("--layers", self.layers)):
            if size is not None:
                own = " and ".join(OWN)
                raise AskwiseError(f"{option} is for {own}; the timm model {self.backbone!r} has its own; leave it out")
        TimmBackbone(self.backbone, weights=self.weights).check()

    def settings(self, height: int, width: int, costs: Mapping[str, float] | None) -> dict[str, Any]:
        """What an estimator is told of images of this size; what was not given is left out."""
        from askwise.networks.timm_backbone import TimmBackbone

        backbone: Any = self.backbone
        if self.pretrained or self.weights is not None:
            backbone = TimmBackbone(str(self.backbone), self.pretrained, self.weights)
        given = {
            "costs": costs,
            "patch": patch_for(height, width, self.patch),
            "backbone": backbone,
            "prior": self.prior,
            "drop_unknown": self.drop_unknown or None,
            "layers": self.layers,
            "augment": self._ways(),
        }
        return {name: value for name, value in given.items() if value is not None}

    def _ways(self) -> list[str] | None:
        """How images are varied, by name."""
        if self.augment is None:
            return None
        return [way.strip() for way in self.augment.split(",") if way.strip() and self.augment.strip() != "none"]


def hold_images(path: Path, column: str | None) -> bool:
    """Whether cases at a path are images: a folder, an npz file, or a table with a column of paths."""
    from askwise.data.images.files import IMAGE_TYPES

    return column is not None or path.is_dir() or path.suffix.lower() in (".npz", *IMAGE_TYPES)


def stem(path: Path) -> str:
    """What a model of the images at a path is called."""
    return path.resolve().name if path.is_dir() else path.stem


def refuse_table_options(
    path: Path, column: str | None, of_questions: Mapping[str, Any], of_rows: Mapping[str, Any]
) -> None:
    """Raise an error for an option about a table, where images were given.

    of_questions: options about columns that are asked; of_rows: those that a table of images has too.
    """
    for option, value in of_questions.items():
        if value:
            raise AskwiseError(f"{option} is about the columns of a table, and {path} holds images; leave it out")
    for option, value in of_rows.items():
        if value and column is None:
            raise AskwiseError(
                f"{option} is about the columns of a table, and {path} has none; leave it out, or give a table with "
                "--images COLUMN, the column with the paths of the images"
            )


def read_cases(
    out: Out,
    path: Path,
    target: str | None,
    task: TaskChoice,
    costs: Path | None,
    options: ImageOptions,
    split_by: str | None = None,
    drop: Sequence[str] | None = None,
) -> Cases:
    """Labelled images to learn from. split_by, drop: columns of a table of images."""
    from askwise.data.tables.files import read_costs

    prices = None if costs is None else read_costs(costs)
    _check_options(path, options.images, target, options.split)
    person = _people(path, options.images, target, split_by, drop) if split_by or drop else None
    found = read(out, path, options.images, target, options.split, options.size)
    height, width = found.images.shape[1:3]
    asked = options.settings(height, width, prices)
    name = target or LABEL
    kind, y = _labels_of(found, name, task, options.images is not None, out)
    card: dict[str, Any] = {"target": name, "data": path.resolve().name, "size": [height, width]}
    card |= {} if options.split is None else {"split": options.split}
    card |= {} if options.images is None else {IMAGE_COLUMN: options.images}
    file = "PHOTO" if path.suffix.lower() == ".npz" else found.sources[0]
    to_ask = ["--image", file, "-o", "way.png"]
    others = _others(path, options.split)
    return Cases(found.images, y, kind, asked, card, "image", person, to_ask=to_ask, to_evaluate=others)


def _others(path: Path, split: str | None) -> list[object]:
    """Where other images to evaluate on may lie, for the command to try next."""
    if path.is_dir():
        return ["FOLDER"]
    if split is not None:
        import numpy as np

        with np.load(path, allow_pickle=False) as held:
            parts = [str(part) for part in np.unique(held["split"]) if part != split]
        if parts:
            return [path, "--split", "test" if "test" in parts else parts[0]]
    return [f"FILE{path.suffix}"]


def _people(
    path: Path, column: str | None, target: str | None, split_by: str | None, drop: Sequence[str] | None
) -> Any:
    """Who each row of a table of images belongs to; what is dropped must be there, and is not looked at anyway."""
    from askwise.data.tables.files import read_table

    frame = read_table(path)
    rest = frame.drop(columns=[name for name in (column, target) if name in frame.columns])
    person, rest = tables.people(rest, split_by, "--split-by")
    tables.without(rest, tables.names(drop, rest.columns), "--drop")
    return person


def _labels_of(found: Images, name: str, task: TaskChoice, of_table: bool, out: Out) -> tuple[str, Any]:
    """The kind of task and the answers.

    Whole numbers that come with images are classes, however many, and so are the texts of a folder or an npz file.
    """
    import pandas as pd

    answers = pd.Series(found.labels, name=name)
    if task is TaskChoice.auto and (found.labels.dtype.kind in "iu" or (not of_table and answers.dtype.kind != "f")):
        task = TaskChoice.classification
    return task_of(answers, task, out)


def read(
    out: Out,
    path: Path,
    column: str | None,
    target: str | None,
    split: str | None = None,
    size: int | tuple[int, int] | None = None,
) -> Images:
    """The images at a path, with a bar while they are decoded."""
    from askwise.data.images.files import read_images

    _check_options(path, column, target, split)
    with fraction_progress(out, f"Reading {path.resolve().name}") as progress:
        return read_images(path, size, split=split, image_column=column, label_column=target, progress=progress)


def is_table(path: Path) -> bool:
    """Whether a path is that of a table, by its name."""
    from askwise.data.tables.files import TABLE_TYPES, table_type

    return table_type(path) in TABLE_TYPES and not path.is_dir()


def _check_options(path: Path, column: str | None, target: str | None, split: str | None) -> None:
    """Raise an error for options that do not belong to what is at the path."""
    if split is not None and path.suffix.lower() != ".npz":
        raise AskwiseError(f"--split takes a part of an .npz file, and {path} is none; leave it out")
    if is_table(path) and column is None:
        raise AskwiseError(f"{path} is a table; name its column with the paths of the images: --images COLUMN")
    if is_table(path) and target is None:
        raise AskwiseError(f"{path} is a table, and nothing tells what to predict; name its column: --target COLUMN")
    if not is_table(path) and column is not None:
        raise AskwiseError(f"--images names a column of a table, and {path} is none; leave it out")


def read_for(
    out: Out, path: Path, layout: PatchLayout, task: Task, column: str | None, target: str | None, split: str | None
) -> tuple[Any, Any, tuple[str, ...]]:
    """Images as a model takes them, their answers in its labels, and where they come from."""
    import pandas as pd

    found = read(out, path, column, target, split, (layout.height, layout.width))
    images = found.images
    # Grey images of a model of colours are coloured where they are encoded.
    if images.shape[3] > layout.channels:
        images = _in_grey(images)
    return images, tables.as_labels(pd.Series(found.labels, name=target or LABEL), task), found.sources


def _in_grey(images: Any) -> Any:
    import numpy as np
    from PIL import Image

    return np.stack([np.asarray(Image.fromarray(image).convert("L")) for image in images])[..., None]


def layout_of(estimator: Any) -> PatchLayout | None:
    """How a model of images cuts them; None for a model of tables."""
    from askwise.data.images.schema import ImageSchema

    schema = estimator.model_.schema
    return schema.layout if isinstance(schema, ImageSchema) else None


def patch_for(height: int, width: int, given: int | None) -> int:
    """The side of the patches of images of this size; an error says which would divide them."""
    wanted = USUAL_PATCH if given is None else given
    divides = [p for p in range(1, math.gcd(height, width) + 1) if not (height % p or width % p)]
    allowed = [p for p in divides if p * p < height * width]
    if wanted in allowed and (given is not None or min(height, width) >= SMALLEST_SIDE):
        return wanted
    which = ", ".join(map(str, [p for p in allowed if p > 1 and p != wanted]))
    near = max(32, round(min(height, width) / 32) * 32)
    hint = f"give --patch {which.replace(', ', ' or ', which.count(', '))}" if which else f"give --size {near}"
    why = "is for larger ones" if given is None and wanted in allowed else "does not divide them"
    if wanted in divides and wanted not in allowed:
        why = "would be the whole image"
    raise AskwiseError(f"the images have {width} x {height} pixels, and a patch of {wanted} x {wanted} {why}; {hint}")
