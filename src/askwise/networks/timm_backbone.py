"""A backbone by the name of a timm model."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from askwise.core.errors import AskwiseError, listed, unknown_name
from askwise.data.images.patches import PatchLayout
from askwise.networks.own_backbones import OWN, SLIP
from askwise.networks.pixels import MEAN, STD
from askwise.networks.timm_import import import_timm


@dataclass(frozen=True)
class TimmBackbone:
    """A model of timm by its name, one of `timm.list_models()`.

    pretrained: start from the weights that timm downloads. weights: start from the weights in this file. options: other
    arguments of `timm.create_model`, such as output_stride=8. as_pretrained: build it as a pretrained one is built; its
    weights come later, from a model file. A transformer is built for the size of the images and, if it is not
    pretrained, for their patches.
    """

    name: str
    pretrained: bool = False
    weights: str | Path | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    as_pretrained: bool = False

    @property
    def has_weights(self) -> bool:
        """Whether it starts from trained weights."""
        return self.pretrained or self.weights is not None

    def build(self, layout: PatchLayout) -> nn.Module:
        """The network for images of this layout, without a head."""
        self.check()
        timm, options = import_timm(), dict(self.options)
        if self.weights is not None:
            # Some models load only files of the framework they come from, unless custom_load is False.
            is_foreign = Path(self.weights).suffix == ".npz"
            options["pretrained_cfg_overlay"] = {"file": str(self.weights), "custom_load": is_foreign}
        failed: Exception | None = None
        for size in self._sizes(layout):
            try:
                network = timm.create_model(self.name, pretrained=self.has_weights, num_classes=0, **(size | options))
            except (TypeError, ValueError, AssertionError) as error:
                failed = error
                continue
            # No connection, a file of something else, and whatever else goes wrong with weights.
            except Exception as error:
                failed = error
                break
            # A network that merges patches from layer to layer starts with patches that are smaller than its last ones.
            if "patch_size" not in size or _reduction(network) == layout.patch:
                self._check_weights(network)
                return network
        raise AskwiseError(f"timm can't make {self.name!r} with {dict(self.options)}: {failed}") from failed

    def _sizes(self, layout: PatchLayout) -> list[dict[str, Any]]:
        """Arguments of sizes, to be tried in this order: transformers are built for one size, convolutions take any."""
        image = {"img_size": (layout.height, layout.width)}
        if self.has_weights or self.as_pretrained:
            return [image, {}]
        return [image | {"patch_size": layout.patch}, image, {}]

    def check(self) -> None:
        """Raise a clear error if timm can't be loaded or has no such model, or if the file of weights is missing."""
        try:
            timm = import_timm()
        except AskwiseError:
            # A typing error in a name of our own is found without timm.
            if difflib.get_close_matches(self.name, OWN, n=1, cutoff=SLIP):
                raise AskwiseError(f"{unknown_name('backbone', self.name, OWN)}, or the name of a timm model") from None
            raise
        if not timm.is_model(self.name.partition(".")[0]):
            near = difflib.get_close_matches(self.name, [*OWN, *timm.list_models()], n=3)
            hint = f"did you mean {listed(near)}? " if near else ""
            raise AskwiseError(
                f"unknown backbone {self.name!r}; {hint}allowed: {listed(OWN)}, or the name of a timm model, as "
                "timm.list_models() has them"
            )
        if self.weights is not None and not Path(self.weights).is_file():
            raise AskwiseError(f"there is no file of weights {self.weights}")

    def _check_weights(self, network: nn.Module) -> None:
        """Raise if the file has no weights of this network: timm skips what does not fit, without a word."""
        if self.weights is None or Path(self.weights).suffix == ".npz":
            return
        saved = import_timm().models.load_state_dict(str(self.weights)).values()
        tensors = [value for value in saved if isinstance(value, Tensor)]
        # A tensor of equal numbers, such as a bias of zeros, says nothing about where it came from.
        varied = [value for value in network.state_dict().values() if value.numel() > 1 and value.float().std() > 0]
        if not any(own.shape == other.shape and torch.equal(own, other.to(own)) for own in varied for other in tensors):
            raise AskwiseError(f"the file {self.weights} has no weights of {self.name!r}")

    def normalisation(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Mean and standard deviation of the pixels that the model was trained on."""
        if not (self.has_weights or self.as_pretrained):
            return MEAN, STD
        config = import_timm().get_pretrained_cfg(self.name)
        return (tuple(config.mean), tuple(config.std)) if config is not None else (MEAN, STD)

    def plain(self) -> dict[str, Any]:
        """The form in a model file, which has the weights beside it."""
        return {
            "timm": self.name,
            "options": dict(self.options),
            "as_pretrained": self.has_weights or self.as_pretrained,
        }


def _reduction(network: Any) -> int | None:
    """How many pixels wide and high each place of the features is, if timm knows."""
    info = getattr(network, "feature_info", None)
    return int(info[-1]["reduction"]) if info else None
