"""What methods that learn from images share: patches as groups, backbones, and how images are varied in training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import nn

from askwise.data.images import ImageSchema
from askwise.errors import AskwiseError, listed, shortened
from askwise.features import FeatureSpace
from askwise.methods.base import with_settings
from askwise.methods.checks import check_whole, check_whole_or_none
from askwise.methods.neural import NeuralMethod
from askwise.networks.backbones import TimmBackbone, TokenBackbone, build_backbone
from askwise.networks.image_pair import (
    DroppingTrunk,
    ImageNetwork,
    ImageNetworks,
    MapValues,
    PredictorHead,
    QueryValues,
    Summary,
    Trunk,
)
from askwise.networks.pair import Networks, SeparateNetworks, SharedNetworks
from askwise.networks.pixels import MEAN, STD, Pixels
from askwise.patches import SKETCH, PatchLayout, PatchSpace
from askwise.policy import Policy
from askwise.tasks import Task
from askwise.training.loop import Training
from askwise.training.update import Plan
from askwise.training.variation import VARIATIONS, Varied

Array = np.ndarray[Any, Any]

LONGEST_EPISODE = 20
# The share of a stage in which the learning rate rises.
WARM_UP = 0.05


@with_settings
class ImageMethod(NeuralMethod):
    """A method on images of one size, whose patches are asked."""

    backbone: str | TimmBackbone | nn.Module = "small-vit"
    patch: int = 16
    hidden: int | None = None
    layers: int | None = None
    prior: str | None = None
    stop_gradient: bool = True
    share_backbone: bool = True
    drop_unknown: bool = False
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

    def trunk(self, space: FeatureSpace, drop: bool = False) -> Trunk:
        """Pixels through a backbone; unknown patches are left out where it can, and is asked to."""
        assert isinstance(space, PatchSpace)
        layout = space.layout
        sizes = self.hidden, self.layers
        backbone = build_backbone(self.backbone, layout, *sizes)
        prior = build_backbone(self.backbone, layout, *sizes) if layout.sketch else None
        pixels = Pixels(layout, *self._normalisation())
        if not drop:
            return Trunk(pixels, backbone, prior)
        if not isinstance(backbone, TokenBackbone) or not backbone.can_drop or backbone.grid != layout.grid:
            raise AskwiseError(
                "drop_unknown=True needs a vision transformer with a class token and one token for each patch, as "
                f"'small-vit' is; {shortened(self.backbone)} is none for patches of {layout.patch} x {layout.patch}"
            )
        return DroppingTrunk(pixels, backbone, prior)

    def _normalisation(self) -> tuple[Sequence[float], Sequence[float]]:
        mean, std = self.backbone.normalisation() if isinstance(self.backbone, TimmBackbone) else (MEAN, STD)
        return self.mean or mean, self.std or std

    def network(self, space: FeatureSpace, n_outputs: int) -> nn.Module:
        trunk = self.trunk(space)
        return ImageNetwork(trunk, PredictorHead(trunk, n_outputs, self.stop_gradient))

    def pair(self, space: FeatureSpace, task: Task, share_trunk: bool = False) -> SeparateNetworks | SharedNetworks:
        """Networks on what may be known in part: no patch is left out."""
        if share_trunk:
            summary = Summary(self.trunk(space))
            return SharedNetworks(
                summary, nn.Linear(summary.width, task.n_outputs), nn.Linear(summary.width, space.n_groups)
            )
        return SeparateNetworks(self.network(space, task.n_outputs), self._values(space))

    def _values(self, space: FeatureSpace) -> ImageNetwork:
        trunk = self.trunk(space)
        return ImageNetwork(trunk, self._value_head(trunk, space, 0.0))

    def _value_head(self, trunk: Trunk, space: FeatureSpace, first_value: float) -> nn.Module:
        assert isinstance(space, PatchSpace)
        if trunk.drops:
            return QueryValues(trunk, space.n_groups, first_value)
        return MapValues(trunk, space.layout.grid, first_value)

    def image_networks(self, space: FeatureSpace, task: Task, first_value: float, drop: bool) -> Networks:
        """A predictor and values on one backbone, or on one each."""
        trunk = self.trunk(space, drop)
        predictor = PredictorHead(trunk, task.n_outputs, self.stop_gradient)
        if self.share_backbone:
            return ImageNetworks(trunk, predictor, self._value_head(trunk, space, first_value))
        other = self.trunk(space, drop)
        return SeparateNetworks(
            ImageNetwork(trunk, predictor), ImageNetwork(other, self._value_head(other, space, first_value))
        )


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
