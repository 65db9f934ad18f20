"""Random known sets to learn from."""

from __future__ import annotations

import torch
from torch import Tensor


def random_known(available: Tensor) -> Tensor:
    """Random sets of available groups whose size is uniform on 0..d, with members at random.

    Every group joins independently with one probability per row, itself uniform on [0, 1]: then the size of the set
    is uniform (the beta-binomial distribution with both parameters 1), at the price of one comparison.
    """
    draw = torch.rand(available.shape, device=available.device)
    level = torch.rand(len(available), 1, device=available.device)
    return (draw < level) & available
