"""What methods on images with a backbone share: how it is chosen, and the networks that are built on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import nn

from askwise.core.errors import AskwiseError, shortened
from askwise.core.features import FeatureSpace
from askwise.core.tasks import Task
from askwise.data.images.patches import PatchSpace
from askwise.methods.base import with_settings
from askwise.methods.images.inputs import ImageInputs
from askwise.networks.backbones import TokenBackbone
from askwise.networks.build_backbone import build_backbone
from askwise.networks.image_pair import (
    DroppingTrunk,
    ImageNetwork,
    PredictorHead,
    Summary,
    Trunk,
)
from askwise.networks.own_backbones import CNN_WIDTHS
from askwise.networks.pair import Networks, SeparateNetworks, SharedNetworks
from askwise.networks.timm_backbone import TimmBackbone
from askwise.training.devices import pick_device


@with_settings
class ImageMethod(ImageInputs):
    """A method that sees images through a backbone."""

    # A prior is looked at once an update; on a CPU widths and precision are others.
    revision = 2

    backbone: str | TimmBackbone | nn.Module = "small-cnn"

    def trunk(self, space: FeatureSpace, drop: bool = False) -> Trunk:
        """Pixels through a backbone; unknown patches are left out where it can, and is asked to."""
        assert isinstance(space, PatchSpace)
        layout = space.layout
        sizes = self.backbone_width, self.layers
        backbone = build_backbone(self.backbone, layout, *sizes)
        prior = build_backbone(self.backbone, layout, *sizes) if layout.sketch else None
        pixels = self.pixels(layout)
        if not drop:
            return Trunk(pixels, backbone, prior)
        if not isinstance(backbone, TokenBackbone) or not backbone.can_drop or backbone.grid != layout.grid:
            raise AskwiseError(
                "drop_unknown=True needs a vision transformer with a class token and one token for each patch, as "
                f"'small-vit' is; {shortened(self.backbone)} is none for patches of {layout.patch} x {layout.patch}"
            )
        return DroppingTrunk(pixels, backbone, prior)

    @property
    def backbone_width(self) -> int | None:
        """Of one of our own; where none is given, one that the device can train in time."""
        if self.hidden is not None or self.backbone != "small-cnn":
            return self.hidden
        return CNN_WIDTHS[pick_device(self.device).type]

    def plain_settings(self) -> dict[str, Any]:
        """With what else may be another on another machine: the width, and the numbers that pixels are normalised by,
        which timm knows for each name."""
        mean, std = self.normalisation()
        return super().plain_settings() | {"hidden": self.backbone_width, "mean": list(mean), "std": list(std)}

    def normalisation(self) -> tuple[Sequence[float], Sequence[float]]:
        """Those of the images that a pretrained backbone learnt from, unless others are given."""
        if not isinstance(self.backbone, TimmBackbone):
            return super().normalisation()
        mean, std = self.backbone.normalisation()
        return mean if self.mean is None else self.mean, std if self.std is None else self.std

    def network(self, space: FeatureSpace, n_outputs: int) -> nn.Module:
        trunk = self.trunk(space)
        # Nothing else trains its prior.
        return ImageNetwork(trunk, PredictorHead(trunk, n_outputs, stop_gradient=False))

    def pair(self, space: FeatureSpace, task: Task, share_trunk: bool = False) -> Networks:
        """Networks on what may be known in part: no patch is left out.

        On one backbone in any case, which most of the work is in: with `share_trunk` scores have its summary too.
        """
        if not share_trunk:
            return self.heads(space, task)
        summary = Summary(self.trunk(space))
        return SharedNetworks(
            summary, nn.Linear(summary.width, task.n_outputs), nn.Linear(summary.width, space.n_groups)
        )

    def heads(
        self,
        space: FeatureSpace,
        task: Task,
        first_value: float = 0.0,
        share_backbone: bool = True,
        drop_unknown: bool = False,
        stop_gradient: bool = False,
        prior_for_values: bool = True,
    ) -> Networks:
        """A predictor and a value for each patch, on one backbone or on one each."""
        trunk = self.trunk(space, drop_unknown)
        predictor = PredictorHead(trunk, task.n_outputs, stop_gradient)
        if share_backbone:
            return trunk.networks(predictor, trunk.value_head(first_value, prior_for_values))
        other = self.trunk(space, drop_unknown)
        return SeparateNetworks(ImageNetwork(trunk, predictor), ImageNetwork(other, other.value_head(first_value)))
