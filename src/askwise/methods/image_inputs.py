"""What methods that learn from images share, whatever their networks: patches as groups, varied in training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from askwise.data.images import ImageSchema
from askwise.errors import AskwiseError, listed, shortened
from askwise.features import FeatureSpace
from askwise.methods.base import with_settings
from askwise.methods.checks import check_whole, check_whole_or_none
from askwise.methods.neural import NeuralMethod
from askwise.networks.pixels import MEAN, STD, Pixels
from askwise.patches import SKETCH, PatchLayout, PatchSpace
from askwise.policy import Policy
from askwise.training.loop import Training
from askwise.training.update import Plan
from askwise.training.variation import VARIATIONS, Varied

Array = np.ndarray[Any, Any]

LONGEST_EPISODE = 20
# The share of a stage in which the learning rate rises.
WARM_UP = 0.05


@with_settings
class ImageInputs(NeuralMethod):
    """A method on images of one size, whose patches are asked."""

    patch: int = 16
    hidden: int | None = None
    layers: int | None = None
    prior: str | None = None
    augment: Sequence[str] = VARIATIONS
    mean: Sequence[float] | None = None
    std: Sequence[float] | None = None
    learning_rate: float = 1e-3

    def check_settings(self) -> None:
        super().check_settings()
        check_whole("patch", self.patch)
        for size in ("hidden", "layers"):
            check_whole_or_none(size, getattr(self, size))
        if self.prior not in (None, SKETCH):
            raise AskwiseError(f"prior takes None or {SKETCH!r}, was given {self.prior!r}")
        unknown = [way for way in self.augment if way not in VARIATIONS]
        if isinstance(self.augment, str) or unknown:
            given = self.augment if isinstance(self.augment, str) else unknown[0]
            raise AskwiseError(f"augment takes a list of some of {listed(VARIATIONS)}, or []; was given {given!r}")
        for name, numbers in (("mean", self.mean), ("std", self.std)):
            if numbers is not None and len(numbers) != 3:
                raise AskwiseError(f"{name} takes three numbers, one for each channel, was given {numbers!r}")

    def inputs(self, X: Any, reset: bool = False) -> Array:
        """Images (n, height, width, channels): uint8, or where some pixels are not known, numbers with NaN."""
        images = as_images(X)
        if reset:
            self.n_features_in_ = int(np.prod(images.shape[1:]))
        elif hasattr(self, "model_"):
            layout = self.model_.schema.layout  # type: ignore[attr-defined]
            size = (layout.height, layout.width, layout.channels)
            if images.shape[1:] != size:
                raise AskwiseError(f"images of shape {images.shape[1:]} were given, and the model takes {size}")
        return images

    def schema_of(self, inputs: Array) -> ImageSchema:
        _, height, width, channels = inputs.shape
        layout = PatchLayout(height, width, channels, self.patch, sketch=self.prior == SKETCH)
        return ImageSchema.of_layout(layout, self.costs)

    def place_of_use(self, device: torch.device) -> str:
        return str(device)

    def steps(self, space: FeatureSpace) -> int:
        return min(space.n_groups, self.max_steps or LONGEST_EPISODE)

    def ready(self, policy: Policy, training: Training) -> None:
        super().ready(policy, training)
        assert isinstance(policy.space, PatchSpace)
        lose, vary = training.prepare, Varied(policy.space.layout, self.augment)
        training.prepare = lambda rows: vary(lose(rows))

    def plan(self, training: Training, updates: int, epochs: int | None = None) -> Plan:
        return replace(super().plan(training, updates, epochs), warm_up=WARM_UP)

    def normalisation(self) -> tuple[Sequence[float], Sequence[float]]:
        """Mean and deviation of each channel, of pixels from 0 to 1."""
        return self.mean or MEAN, self.std or STD

    def pixels(self, layout: PatchLayout) -> Pixels:
        """What turns rows into what networks see."""
        return Pixels(layout, *self.normalisation())


def as_images(X: Any) -> Array:
    """Images (n, height, width, channels) of an array, or of a list of images; uint8, or numbers with NaN."""
    if hasattr(X, "images"):
        X = X.images
    if not isinstance(X, np.ndarray):
        X = _stacked(X)
    if X.ndim == 3:
        X = X[..., None]
    if X.ndim != 4 or X.shape[3] not in (1, 3) or not X.size:
        raise AskwiseError(
            "images are an array (n, height, width), or (n, height, width, 3) with colours last; was given shape "
            f"{X.shape}"
        )
    if X.dtype == np.uint8:
        return X
    if X.dtype.kind not in "iuf":
        raise AskwiseError(f"pixels are numbers; was given an array of {X.dtype}")
    low, high = (float(f(X)) for f in (np.nanmin, np.nanmax)) if not np.isnan(X).all() else (0.0, 0.0)
    most = 1 if X.dtype.kind == "f" else 255
    if not (low >= 0 and high <= most):
        raise AskwiseError(
            "pixels are whole numbers from 0 to 255, or fractions from 0 to 1; was given numbers from "
            f"{low:g} to {high:g} as {X.dtype}"
        )
    numbers = np.round(X * 255) if X.dtype.kind == "f" else X
    return numbers if np.isnan(numbers).any() else numbers.astype(np.uint8)


def _stacked(images: Any) -> Array:
    """A list of arrays or PIL images of one size."""
    try:
        found = [np.asarray(image) for image in images]
    except TypeError:
        found = []
    if not found:
        raise AskwiseError(f"images are an array or a list of images, was given {shortened(images)}")
    shapes = sorted({image.shape for image in found})
    if len(shapes) > 1:
        raise AskwiseError(
            f"images must have one size; these have {listed(shapes, most=3)}. read_images(path, size=...) brings files "
            "to one size"
        )
    return np.stack(found)
