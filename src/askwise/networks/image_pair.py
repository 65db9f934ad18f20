"""A predictor and a value network on images, on one backbone or on one each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor, nn

from askwise.core.capabilities import Capabilities
from askwise.networks.backbones import Backbone, TokenBackbone
from askwise.networks.conv import conv_norm
from askwise.networks.pair import TwoHeads
from askwise.networks.pixels import Pixels
from askwise.networks.vit import Attention

# Channels of the value head between a map and the grid of patches.
VALUE_CHANNELS = 128
# Networks of images mask pixels after normalising them, have batch norms, and many layers to round in.
IMAGE = Capabilities(masks_inputs=True, noise_in_walks=False, float32_error=20.0)


@dataclass(frozen=True)
class TrunkOutput:
    """What a trunk makes of what is known: a summary (batch, width) and, of a sketch, that of its prior."""

    summary: Tensor
    prior: Tensor | None


@dataclass(frozen=True)
class SeenMap(TrunkOutput):
    """And a map (batch, channels, rows, columns) of the whole image."""

    map: Tensor


@dataclass(frozen=True)
class TokenTrunkOutput(TrunkOutput):
    """And tokens (batch, length, width) of the known patches, and which of them exist (batch, length)."""

    tokens: Tensor
    exists: Tensor


class Trunk(nn.Module):
    """Pixels and a mask, hidden after normalisation, through a backbone; a sketch through one of its own."""

    def __init__(self, pixels: Pixels, backbone: Backbone, prior: Backbone | None = None) -> None:
        super().__init__()
        self.pixels = pixels
        self.backbone = backbone
        self.prior = prior

    @property
    def prior_width(self) -> int:
        return 0 if self.prior is None else self.prior.width

    @property
    def capabilities(self) -> Capabilities:
        return replace(IMAGE, noisy_training=self.backbone.is_noisy)

    def value_head(self, first_value: float, reads_prior: bool = True) -> nn.Module:
        """One raw score a patch, at about `first_value` to begin with, from what this trunk has seen."""
        return MapValues(self, self.pixels.layout.grid, first_value, reads_prior)

    def networks(self, predictor_head: PredictorHead, value_head: nn.Module) -> ImageNetworks:
        """This trunk with both heads."""
        return ImageNetworks(self, predictor_head, value_head)

    def forward(self, x: Tensor, mask: Tensor, prior: Tensor | None = None) -> TrunkOutput:
        found = self.backbone(self.pixels.photo(x, mask))
        return SeenMap(found.summary, self.prior_output(x, mask) if prior is None else prior, found.map)

    def prior_output(self, x: Tensor, mask: Tensor) -> Tensor | None:
        """The summary of the sketch, (batch, width)."""
        return None if self.prior is None else self.prior(self.pixels.sketch(x, mask)).summary


class DroppingTrunk(Trunk):
    """The same on a transformer that leaves unknown patches out: what it costs follows what is known.

    most: no row knows more patches than this, where the caller can tell; else it is looked up, except on a GPU, where
    looking would make the host wait.
    """

    backbone: TokenBackbone

    def value_head(self, first_value: float, reads_prior: bool = True) -> nn.Module:
        return QueryValues(self, self.pixels.layout.n_patches, first_value, reads_prior)

    def networks(self, predictor_head: PredictorHead, value_head: nn.Module) -> ImageNetworks:
        return DroppingNetworks(self, predictor_head, value_head)

    def forward(self, x: Tensor, mask: Tensor, prior: Tensor | None = None, most: int | None = None) -> TrunkOutput:
        n_patches = self.pixels.layout.n_patches
        known = mask[:, :n_patches].bool()
        if most is None:
            most = n_patches if x.is_cuda or torch.compiler.is_compiling() else int(known.sum(1).max())
        if most >= n_patches:
            index, exists = torch.arange(n_patches, device=x.device).expand(x.shape[0], -1), known
        else:
            order = known.to(torch.uint8).sort(dim=1, descending=True, stable=True)
            index, exists = order.indices[:, :most], order.values[:, :most].bool()
        tokens, exists = self.backbone.forward_tokens(self.pixels.photo(x, mask), index, exists)
        prior = self.prior_output(x, mask) if prior is None else prior
        return TokenTrunkOutput(self.backbone.summary(tokens), prior, tokens, exists)


class PredictorHead(nn.Module):
    """A linear layer on the summary and, where there is one, the prior's: without its gradient, unless asked for."""

    def __init__(self, trunk: Trunk, n_outputs: int, stop_gradient: bool = True) -> None:
        super().__init__()
        self.stop_gradient = stop_gradient
        self.linear = nn.Linear(trunk.backbone.width + trunk.prior_width, n_outputs)
        # Of a prior that it has no part in training, a prediction makes nothing until it has learnt to.
        if stop_gradient:
            nn.init.zeros_(self.linear.weight[:, trunk.backbone.width :])

    def forward(self, seen: TrunkOutput) -> Tensor:
        if seen.prior is None:
            return self.linear(seen.summary)
        prior = seen.prior.detach() if self.stop_gradient else seen.prior
        return self.linear(torch.cat([seen.summary, prior], 1))


class MapValues(nn.Module):
    """One raw score a patch from a map: a linear layer where there is a place for each patch; else the map is brought
    to the grid of patches by a transposed convolution first.
    """

    def __init__(self, trunk: Trunk, grid: tuple[int, int], first_value: float, reads_prior: bool = True) -> None:
        super().__init__()
        self.reads_prior = reads_prior and trunk.prior is not None
        backbone = trunk.backbone
        channels = backbone.channels + (trunk.prior_width if reads_prior else 0)
        times = max(-(-wanted // had) for wanted, had in zip(grid, backbone.grid, strict=True))
        fits = grid == tuple(times * had for had in backbone.grid)
        self.to_grid: nn.Module = nn.Identity()
        if grid != backbone.grid:
            self.to_grid = nn.Sequential(
                nn.ConvTranspose2d(channels, VALUE_CHANNELS, times, times, bias=False),
                nn.BatchNorm2d(VALUE_CHANNELS),
                nn.ReLU(),
                nn.Identity() if fits else nn.AdaptiveAvgPool2d(grid),
                conv_norm(VALUE_CHANNELS, VALUE_CHANNELS, 3),
                nn.ReLU(),
            )
            channels = VALUE_CHANNELS
        self.linear = nn.Linear(channels, 1)
        nn.init.constant_(self.linear.bias, first_value)

    def forward(self, seen: SeenMap) -> Tensor:
        found = seen.map
        if self.reads_prior and seen.prior is not None:
            found = torch.cat([found, seen.prior[:, :, None, None].expand(-1, -1, *found.shape[2:])], 1)
        return self.linear(self.to_grid(found).flatten(2).transpose(1, 2))[..., 0]


class QueryValues(nn.Module):
    """One raw score a patch from the tokens of known patches: each place asks them, by its position alone."""

    def __init__(
        self, trunk: Trunk, n_patches: int, first_value: float, reads_prior: bool = True, heads: int = 4
    ) -> None:
        super().__init__()
        self.reads_prior = reads_prior and trunk.prior is not None
        width = trunk.backbone.channels
        heads = next(h for h in range(heads, 0, -1) if width % h == 0)
        self.queries = nn.Parameter(torch.randn(1, n_patches, width) * 0.02)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn = Attention(width, heads)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))
        self.linear = nn.Linear(width + (trunk.prior_width if reads_prior else 0), 1)
        nn.init.constant_(self.linear.bias, first_value)

    def forward(self, seen: TokenTrunkOutput) -> Tensor:
        asking = self.queries.expand(seen.tokens.shape[0], -1, -1)
        found = asking + self.attn(self.norm1(asking), seen.tokens, seen.exists[:, None, None, :])
        found = found + self.mlp(self.norm2(found))
        if self.reads_prior and seen.prior is not None:
            found = torch.cat([found, seen.prior[:, None].expand(-1, found.shape[1], -1)], 2)
        return self.linear(found)[..., 0]


class ImageNetwork(nn.Module):
    """A trunk and one head: (x, mask) -> what the head gives."""

    def __init__(self, trunk: Trunk, head: nn.Module) -> None:
        super().__init__()
        self.trunk = trunk
        self.head = head

    @property
    def capabilities(self) -> Capabilities:
        return self.trunk.capabilities

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        out: Tensor = self.head(self.trunk(x, mask))
        return out


class Summary(nn.Module):
    """A trunk that gives its summary alone: a representation (batch, width) for linear heads."""

    def __init__(self, trunk: Trunk) -> None:
        super().__init__()
        self.trunk = trunk
        self.width = trunk.backbone.width + trunk.prior_width

    @property
    def capabilities(self) -> Capabilities:
        return self.trunk.capabilities

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        seen: TrunkOutput = self.trunk(x, mask)
        return seen.summary if seen.prior is None else torch.cat([seen.summary, seen.prior], 1)


class ImageNetworks(TwoHeads):
    """One trunk with a head for each: the backbone runs once a step."""

    declared: ClassVar[Capabilities] = IMAGE
    trunk: Trunk
    predictor_head: PredictorHead

    @property
    def capabilities(self) -> Capabilities:
        return replace(self.declared, noisy_training=self.trunk.backbone.is_noisy)

    @property
    def prior_network(self) -> nn.Module | None:
        return self.trunk.prior

    @property
    def prior_without_gradient(self) -> bool:
        return self.trunk.prior is not None and self.predictor_head.stop_gradient

    @property
    def predictor_parts(self) -> list[nn.Module]:
        # Where no gradient of a prediction reaches the prior, it learns with the values.
        parts = [self.trunk.backbone, self.predictor_head]
        trains_prior = self.trunk.prior is not None and not self.prior_without_gradient
        return [*parts, self.trunk.prior] if trains_prior else parts  # type: ignore[list-item]

    def prior_output(self, x: Tensor, mask: Tensor) -> Tensor | None:
        return self.trunk.prior_output(x, mask)

    def forward(
        self, x: Tensor, mask: Tensor, scores: bool = True, prior: Tensor | None = None
    ) -> tuple[Tensor, Tensor | None]:
        return self.heads(self.trunk(x, mask, prior), scores)

    def heads(self, seen: TrunkOutput, scores: bool) -> tuple[Tensor, Tensor | None]:
        """What both heads make of what was seen."""
        return self.predictor_head(seen), self.value_head(seen) if scores else None


class DroppingNetworks(ImageNetworks):
    """The same on a trunk that leaves unknown patches out."""

    declared: ClassVar[Capabilities] = replace(IMAGE, known_count_hint=True)
    trunk: DroppingTrunk

    def forward_counted(
        self, x: Tensor, mask: Tensor, scores: bool, most: Sequence[tuple[int, int]], prior: Tensor | None = None
    ) -> tuple[Tensor, Tensor | None]:
        """Rows that know few patches apart from those that know many: each part costs what it needs."""
        found, start = [], 0
        for count, bound in most:
            part = slice(start, start + count)
            of_part = None if prior is None else prior[part]
            found.append(self.heads(self.trunk(x[part], mask[part], of_part, bound), scores))
            start += count
        outputs = torch.cat([part for part, _ in found])
        return outputs, torch.cat([raw for _, raw in found if raw is not None]) if scores else None
