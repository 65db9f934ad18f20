"""Backbones: networks on images in one form, whether they give tokens or a map."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from askwise.core.errors import AskwiseError
from askwise.core.moved import keep_old_names
from askwise.networks.conv import conv_norm

# Channels of the map's convolution before it is pooled, at most.
POOLED = 512


class Features(NamedTuple):
    """Output of a backbone: a summary (batch, width) and a map (batch, channels, rows, columns)."""

    summary: Tensor
    map: Tensor


class Backbone(nn.Module):
    """A network on images (batch, 3, height, width), in the form that heads need.

    width: of the summary. channels, rows, columns: of the map. is_noisy: it has noise in training, such as dropout.
    """

    def __init__(self, network: nn.Module, width: int, channels: int, rows: int, columns: int) -> None:
        super().__init__()
        self.network = network
        self.is_noisy = False
        self.width = width
        self.channels = channels
        self.grid = rows, columns

    def forward(self, images: Tensor) -> Features:
        raise NotImplementedError


class MapBackbone(Backbone):
    """A network whose features are a map. Its summary: a convolution, norm, ReLU and the mean over the map."""

    def __init__(self, network: nn.Module, channels: int, rows: int, columns: int, channels_last: bool) -> None:
        width = min(channels, POOLED)
        super().__init__(network, width, channels, rows, columns)
        self.channels_last = channels_last
        self.pooled = nn.Sequential(conv_norm(channels, width, 1), nn.ReLU())
        # Convolutions run several times faster in this format, on a GPU and on a CPU.
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def forward(self, images: Tensor) -> Features:
        features = features_of(self.network, images.contiguous(memory_format=torch.channels_last))
        if self.channels_last:
            features = features.permute(0, 3, 1, 2)
        return Features(self.pooled(features).mean((2, 3)), features)


class TokenBackbone(Backbone):
    """A vision transformer. Its summary is the input of its own head; its map has one token for each place.

    n_prefix: number of first tokens that belong to no place, such as the class token. can_drop: whether it can be run
    on some of its tokens only.
    """

    n_prefix = 0
    can_drop = False

    def forward(self, images: Tensor) -> Features:
        tokens = features_of(self.network, images)
        return Features(
            self.summary(tokens), self._places(tokens).transpose(1, 2).reshape(tokens.shape[0], -1, *self.grid)
        )

    def summary(self, tokens: Tensor) -> Tensor:
        """The input of the network's own head, (batch, width)."""
        if hasattr(self.network, "forward_head"):
            return self.network.forward_head(tokens, pre_logits=True)  # type: ignore[operator]
        return tokens[:, 0] if self.n_prefix else tokens.mean(1)

    def _places(self, tokens: Tensor) -> Tensor:
        return tokens[:, self.n_prefix :]

    def forward_tokens(self, images: Tensor, index: Tensor, exists: Tensor) -> tuple[Tensor, Tensor]:
        """Run on some places only: tokens (batch, prefix + places, width) and which of them exist.

        index (batch, places): the places. exists (batch, places): False for padding.
        """
        network: Any = self.network
        tokens = network._pos_embed(network.patch_embed(images))
        place = index[..., None].expand(-1, -1, tokens.shape[2])
        tokens = torch.cat([tokens[:, : self.n_prefix], self._places(tokens).gather(1, place)], 1)
        exists = torch.cat([exists.new_ones(len(exists), self.n_prefix), exists], 1)
        tokens = network.norm_pre(tokens)
        for block in network.blocks:
            tokens = block(tokens, attn_mask=exists[:, None, None, :])
        return network.norm(tokens), exists


def features_of(network: nn.Module, images: Tensor) -> Tensor:
    """The features of a network. The networks of timm have a method for them; others return them when called."""
    features = getattr(network, "forward_features", network)(images)
    if not isinstance(features, Tensor) or features.ndim not in (3, 4):
        given = f"shape {tuple(features.shape)}" if isinstance(features, Tensor) else f"a {type(features).__name__}"
        raise AskwiseError(
            f"a backbone gives a map (batch, channels, rows, columns) or tokens (batch, places, width) for images; "
            f"{type(network).__name__} gave {given}"
        )
    return features


keep_old_names(__name__)
