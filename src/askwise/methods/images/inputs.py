"""What methods that learn from images share, whatever their networks: patches as groups, varied in training."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import torch

from askwise.core.arrays import Array
from askwise.core.errors import AskwiseError, AskwiseWarning, listed, shortened
from askwise.core.features import FeatureSpace
from askwise.core.policy import Policy
from askwise.core.step import StoppingRule
from askwise.data.images.patches import SKETCH, PatchLayout, PatchSpace
from askwise.data.images.pictures import as_images
from askwise.data.images.schema import ImageSchema
from askwise.methods.base import with_settings
from askwise.methods.checks import check_number, check_whole, check_whole_or_none
from askwise.methods.neural import NeuralMethod
from askwise.model.prior import Prior
from askwise.model.session_model import Costs
from askwise.networks.pixels import MEAN, STD, Pixels
from askwise.session.session import Session
from askwise.training.loop import Training
from askwise.training.update import Plan
from askwise.training.variation import VARIATIONS, Varied

LONGEST_EPISODE = 20
# The share of a stage in which the learning rate rises.
WARM_UP = 0.05


@with_settings
class ImageInputs(NeuralMethod):
    """A method on images of one size, whose patches are asked."""

    cpu_threads: ClassVar[int | None] = None

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
        ways = self.augment
        if isinstance(ways, str) or not isinstance(ways, Sequence) or any(way not in VARIATIONS for way in ways):
            raise AskwiseError(f"augment takes a list of some of {listed(VARIATIONS)}, or []; was given {ways!r}")
        _check_channels("mean", self.mean)
        _check_channels("std", self.std, above=0)

    def inputs(self, X: Any, reset: bool = False) -> Array:
        """Images (n, height, width, channels): uint8, or where some pixels are not known, numbers with NaN."""
        images = as_images(X)
        if reset:
            self.n_features_in_ = int(np.prod(images.shape[1:]))
        return images

    def schema_of(self, inputs: Array) -> ImageSchema:
        _, height, width, channels = inputs.shape
        layout = PatchLayout(height, width, channels, self.patch, sketch=self.prior == SKETCH)
        return ImageSchema.of_layout(layout, self.costs)

    def inference_device(self, device: torch.device) -> str:
        return str(device)

    def steps(self, space: FeatureSpace) -> int:
        return min(space.n_groups, self.max_steps or LONGEST_EPISODE)

    def before_training(self, policy: Policy, training: Training) -> None:
        super().before_training(policy, training)
        assert isinstance(policy.space, PatchSpace)
        lose, vary = training.prepare, Varied(policy.space.layout, self.augment)
        training.prepare = lambda rows: vary(lose(rows))

    def plan(self, training: Training, updates: int, epochs: int | None = None) -> Plan:
        return replace(super().plan(training, updates, epochs), warm_up=WARM_UP)

    def session(
        self,
        stop: StoppingRule | None = None,
        known: Mapping[str, Any] | None = None,
        costs: Costs = None,
        prior: Prior = None,
    ) -> Session:
        """A live conversation about one image; `known` gives its sketch, where the model has prior="sketch"."""
        begun = super().session(stop, known, costs, prior)
        if SKETCH in begun.model.schema.free and SKETCH not in (known or {}):
            warnings.warn(
                "this model learnt with a sketch of each image, and the session begins without one; give known="
                "{'sketch': askwise.sketch(photo)}, or {'sketch': None} where there is none",
                AskwiseWarning,
                stacklevel=2,
            )
        return begun

    def normalisation(self) -> tuple[Sequence[float], Sequence[float]]:
        """Mean and deviation of each channel, of pixels from 0 to 1."""
        return MEAN if self.mean is None else self.mean, STD if self.std is None else self.std

    def pixels(self, layout: PatchLayout) -> Pixels:
        """What turns rows into what networks see."""
        return Pixels(layout, *self.normalisation())


def _check_channels(name: str, given: Any, above: float | None = None) -> None:
    """Raise where a setting is not a number for each of three channels."""
    if given is None:
        return
    if isinstance(given, str) or not hasattr(given, "__len__") or len(given) != 3:
        raise AskwiseError(f"{name} takes three numbers, one for each channel, was given {shortened(given)}")
    for number in given:
        check_number(f"each of {name}", number, above=above)
