"""Builds a backbone from a name, a TimmBackbone or a module."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor, nn

from askwise.core.errors import AskwiseError, shortened
from askwise.data.images.patches import PatchLayout
from askwise.networks.backbones import Backbone, MapBackbone, TokenBackbone, features_of
from askwise.networks.own_backbones import OWN
from askwise.networks.pixels import SEEN_CHANNELS
from askwise.networks.timm_backbone import TimmBackbone


def build_backbone(
    given: str | TimmBackbone | nn.Module, layout: PatchLayout, hidden: int | None = None, layers: int | None = None
) -> Backbone:
    """Build a backbone from a name (of our own or of a timm model), a TimmBackbone or a module, which is copied.

    hidden, layers: width and depth of our own backbones.
    """
    if isinstance(given, str):
        given = OWN[given](layout, hidden, layers) if given in OWN else TimmBackbone(given)
    if isinstance(given, TimmBackbone):
        given = given.build(layout)
    elif isinstance(given, nn.Module):
        given = copy.deepcopy(given)
    else:
        raise AskwiseError(
            f"backbone takes {', '.join(map(repr, OWN))}, the name of a timm model, a TimmBackbone or a module; was "
            f"given {shortened(given)}"
        )
    return adapt_network(given, layout)


def adapt_network(network: nn.Module, layout: PatchLayout) -> Backbone:
    """Wrap a network in the form that heads need. It is run on two images to see what it returns."""
    training = network.training
    images = torch.zeros(2, SEEN_CHANNELS, layout.height, layout.width)
    try:
        with torch.no_grad():
            features = features_of(network.eval(), images)
    except AskwiseError:
        raise
    except Exception as error:
        raise AskwiseError(
            f"the backbone {type(network).__name__} failed on images of shape {tuple(images.shape)}: {error}"
        ) from error
    with torch.no_grad():
        is_map = features.ndim == 4
        backbone = _from_map(network, features) if is_map else _from_tokens(network, features, images, layout)
    backbone.is_noisy = _is_noisy(network, images)
    network.train(training)
    return backbone


def _is_noisy(network: nn.Module, images: Tensor) -> bool:
    """Whether the features of the same images vary in training mode, as with dropout."""
    training = copy.deepcopy(network).train()
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(0)
        noise = torch.rand_like(images)
        return not torch.equal(features_of(training, noise), features_of(training, noise))


def _from_map(network: nn.Module, features: Tensor) -> MapBackbone:
    shape, width = features.shape, getattr(network, "num_features", None)
    channels_last = getattr(network, "output_fmt", None) == "NHWC" or (width == shape[3] != shape[1])
    rows, columns = shape[1:3] if channels_last else shape[2:4]
    return MapBackbone(network, shape[3 if channels_last else 1], rows, columns, channels_last)


def _from_tokens(network: nn.Module, features: Tensor, images: Tensor, layout: PatchLayout) -> TokenBackbone:
    # Some networks have a class token but no `num_prefix_tokens`.
    n_prefix = int(getattr(network, "num_prefix_tokens", getattr(network, "cls_token", None) is not None))
    rows, columns = _grid(network, layout, features.shape[1] - n_prefix)
    backbone = TokenBackbone(network, 0, features.shape[2], rows, columns)
    backbone.n_prefix = n_prefix
    backbone.width = backbone.summary(features).shape[1]
    backbone.can_drop = _can_drop(backbone, features, images)
    return backbone


def _can_drop(backbone: TokenBackbone, features: Tensor, images: Tensor) -> bool:
    """Whether it predicts from its class token, and returns the same if it is run part by part with all tokens."""
    parts = ("patch_embed", "_pos_embed", "norm_pre", "blocks", "norm", "forward_head")
    network = backbone.network
    pools = getattr(network, "global_pool", "token") != "token"
    if not backbone.n_prefix or pools or not all(hasattr(network, part) for part in parts):
        return False
    n = backbone.grid[0] * backbone.grid[1]
    all_places = torch.arange(n).expand(len(images), n)
    try:
        tokens, _ = backbone.forward_tokens(images, all_places, torch.ones_like(all_places, dtype=torch.bool))
    # Whatever goes wrong in somebody else's network: it can't.
    except Exception:
        return False
    return tokens.shape == features.shape and torch.allclose(tokens, features, atol=1e-4)


def _grid(network: nn.Module, layout: PatchLayout, places: int) -> tuple[int, int]:
    """Rows and columns of the tokens."""
    embed: Any = getattr(network, "patch_embed", None)
    own: Any = getattr(embed, "grid_size", None) or getattr(network, "grid", layout.grid)
    if own[0] * own[1] == places:
        return int(own[0]), int(own[1])
    raise AskwiseError(
        f"the backbone {type(network).__name__} gives {places} tokens, which don't lie in a grid of {own[0]} x "
        f"{own[1]}; give it a `num_prefix_tokens` for those that stand for no place, or make one for each patch"
    )
