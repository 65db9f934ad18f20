"""Our own backbones by name: convolutions and a vision transformer, which need no other package."""

from __future__ import annotations

from collections.abc import Callable

from torch import nn

from askwise.data.images.patches import PatchLayout
from askwise.networks.conv import SmallCnn
from askwise.networks.vit import SmallVit

# A name as similar as this to one of our own is a typing error, not a model of timm.
SLIP = 0.8
# Default width of our own convolutions: a CPU takes hours for what a GPU does in a minute.
CNN_WIDTHS = {"cpu": 128, "cuda": 256}


def _small_vit(layout: PatchLayout, hidden: int | None, layers: int | None) -> nn.Module:
    width = hidden or 192
    heads = next(h for h in range(max(1, width // 64), 0, -1) if width % h == 0)
    return SmallVit((layout.height, layout.width), layout.patch, width, layers or 8, heads)


def _small_cnn(layout: PatchLayout, hidden: int | None, layers: int | None) -> nn.Module:
    return SmallCnn((layout.height, layout.width), hidden or CNN_WIDTHS["cuda"], layers or 2)


# Name: (layout, width, depth) -> network.
OWN: dict[str, Callable[[PatchLayout, int | None, int | None], nn.Module]] = {
    "small-cnn": _small_cnn,
    "small-vit": _small_vit,
}
