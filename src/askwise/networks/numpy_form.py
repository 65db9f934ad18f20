"""From torch to numpy: the perceptrons of a policy as arrays, and as the names of their weights in a file."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor, nn

from askwise.core.arrays import Array
from askwise.core.features import FeatureSpace
from askwise.networks.mlp import Perceptron, SideBySide
from askwise.networks.one_row import Layer, RowNetworks, Units, largest_sum


def row_networks(space: FeatureSpace, perceptrons: list[Perceptron], units: Units) -> RowNetworks | None:
    """Perceptrons as arrays; None if there are none, or a weight is not finite: it has no whole multiples."""
    chains = [[_layer(layers) for layers in perceptron] for perceptron in perceptrons]
    return RowNetworks(space, chains, units) if chains and math.isfinite(largest_sum(chains)) else None


def names_of_layers(policy: nn.Module, perceptrons: list[Perceptron]) -> list[list[list[str]]]:
    """The names of the layers in the policy: for each perceptron, for each of its layers, those side by side."""
    name_of = {module: name for name, module in policy.named_modules()}
    return [[[name_of[layer] for layer in layers] for layers in perceptron] for perceptron in perceptrons]


def _layer(layers: SideBySide) -> Layer:
    """One layer whose outputs are those of several layers of the same inputs, side by side."""
    weight = torch.cat([layer.weight for layer in layers])
    bias = torch.cat([layer.bias for layer in layers])
    return Layer(_array(weight), _array(bias))


def _array(tensor: Tensor) -> Array:
    return np.ascontiguousarray(tensor.detach().cpu().double().numpy())
