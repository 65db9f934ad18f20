"""Options about images: which are read, how they are cut into patches, and which network sees them."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any

import typer

from askwise.core.errors import AskwiseError, unknown_name

USUAL_PATCH = 16
# Smaller images have too few patches of the usual size to choose among.
SMALLEST_SIDE = 64


@dataclass(frozen=True)
class ImageSourceOptions:
    """Which images of a table or an .npz file are read."""

    images: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="CASES is a table of images: the column with their paths, from its folder on."
        ),
    ] = None
    split: Annotated[
        str | None, typer.Option(metavar="NAME", help="Images in an .npz with an array `split`: the part to take.")
    ] = None


@dataclass(frozen=True)
class ImageOptions(ImageSourceOptions):
    """What the options say about images; each is empty if it was not given."""

    size: Annotated[
        int | None,
        typer.Option(
            min=2,
            metavar="N",
            help="Images: scale and cut each to N x N pixels; else as they are, if they have one size.",
        ),
    ] = None
    patch: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help=f"Images: ask for patches of N x N pixels; {USUAL_PATCH} if not."),
    ] = None
    backbone: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Images: the network that sees them: small-cnn, small-vit, or a timm model."),
    ] = None
    pretrained: Annotated[
        bool, typer.Option("--pretrained", help="Images: begin with the weights that timm downloads for the backbone.")
    ] = False
    # The option is declared once, among those of tables, where it names a column; of images it is a file.
    weights: str | None = None
    prior: Annotated[
        str | None, typer.Option(metavar="sketch", help="Images: what is known from the start, a sketch of the edges.")
    ] = None
    # An option of `train` only.
    drop_unknown: bool = False
    layers: Annotated[int | None, typer.Option(min=1, metavar="N", help="Images: depth of our own backbones.")] = None
    augment: Annotated[
        str | None,
        typer.Option(
            metavar="WAYS",
            help="Images: how they are varied while learning: shift,zoom,flip, some of these, or none. Digits and "
            "letters are others when mirrored: shift,zoom.",
        ),
    ] = None

    def refuse(self, path: object) -> None:
        """Raise an error for an option about images if the path holds none."""
        for field in fields(self):
            if getattr(self, field.name) and field.name != "weights":
                option = f"--{field.name.replace('_', '-')}"
                raise AskwiseError(
                    f"{option} is about images, and {path} holds none; leave it out. A table of images needs --images "
                    "COLUMN, the column with their paths"
                )

    def check(self, hidden: int | None) -> None:
        """Raise an error, before images are read, for a network that can't be built."""
        from askwise.data.images.patches import SKETCH
        from askwise.networks.own_backbones import OWN
        from askwise.training.variation import VARIATIONS

        if self.prior not in (None, SKETCH):
            raise unknown_name("--prior", self.prior, [SKETCH])
        for variation in self._variations() or ():
            if variation not in VARIATIONS:
                raise unknown_name("way to --augment", variation, [*VARIATIONS, "none"])
        if self.drop_unknown and self.backbone in (None, "small-cnn"):
            raise AskwiseError(
                "--drop-unknown is for a transformer, and small-cnn is none; name one, as in --backbone small-vit"
            )
        if self.backbone is not None and self.backbone not in OWN:
            self._check_timm(self.backbone, hidden)
        elif self.pretrained or self.weights is not None:
            option = "--pretrained" if self.pretrained else "--weights"
            raise AskwiseError(f"{option} is for a model of timm; name one, as in --backbone resnet18")

    def _check_timm(self, backbone: str, hidden: int | None) -> None:
        from askwise.networks.own_backbones import OWN, SLIP
        from askwise.networks.timm_backbone import TimmBackbone

        if difflib.get_close_matches(backbone, OWN, n=1, cutoff=SLIP):
            raise AskwiseError(f"{unknown_name('backbone', backbone, OWN)}, or the name of a timm model")
        for option, size in (("--hidden", hidden), ("--layers", self.layers)):
            if size is not None:
                own = " and ".join(OWN)
                raise AskwiseError(f"{option} is for {own}; the timm model {backbone!r} has its own; leave it out")
        TimmBackbone(backbone, weights=self.weights).check()

    def arguments(self, height: int, width: int, costs: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return the arguments of an estimator for images of this size; what was not given is left out."""
        from askwise.networks.timm_backbone import TimmBackbone

        backbone: Any = self.backbone
        if self.pretrained or self.weights is not None:
            backbone = TimmBackbone(str(self.backbone), self.pretrained, self.weights)
        given = {
            "costs": costs,
            "patch": patch_size(height, width, self.patch),
            "backbone": backbone,
            "prior": self.prior,
            "drop_unknown": self.drop_unknown or None,
            "layers": self.layers,
            "augment": self._variations(),
        }
        return {name: value for name, value in given.items() if value is not None}

    def _variations(self) -> list[str] | None:
        """Return the names of --augment; none of them for "none"."""
        if self.augment is None:
            return None
        names = [] if self.augment.strip() == "none" else self.augment.split(",")
        return [name.strip() for name in names if name.strip()]


@dataclass(frozen=True)
class TrainImageOptions(ImageOptions):
    """The same with what only `train` offers."""

    drop_unknown: Annotated[
        bool,
        typer.Option(
            "--drop-unknown", help="Images: a transformer sees only patches that are known; faster, few known."
        ),
    ] = False


def patch_size(height: int, width: int, given: int | None) -> int:
    """Return the side of the patches of images of this size; an error names the sides that divide them."""
    wanted = USUAL_PATCH if given is None else given
    divisors = [p for p in range(1, math.gcd(height, width) + 1) if not (height % p or width % p)]
    allowed = [p for p in divisors if p * p < height * width]
    if wanted in allowed and (given is not None or min(height, width) >= SMALLEST_SIDE):
        return wanted
    choices = ", ".join(map(str, [p for p in allowed if p > 1 and p != wanted]))
    near = max(32, round(min(height, width) / 32) * 32)
    hint = f"give --patch {choices.replace(', ', ' or ', choices.count(', '))}" if choices else f"give --size {near}"
    why = "is for larger ones" if given is None and wanted in allowed else "does not divide them"
    if wanted in divisors and wanted not in allowed:
        why = "would be the whole image"
    raise AskwiseError(f"the images have {width} x {height} pixels, and a patch of {wanted} x {wanted} {why}; {hint}")
