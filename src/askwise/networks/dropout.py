"""Dropout whose random numbers are cheap on a CPU, where drawing them is the dearest part of a small network."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Dropout(nn.Module):
    """Zero each entry with probability p in training, and scale the rest by 1 / (1 - p).

    On a CPU one 64-bit draw decides eight entries (p is met to 1/256, and the scale is that of the p that is met): a
    tenth of the time of torch's own dropout. On other devices torch's own is used.
    """

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.p == 0:
            return x
        if x.device.type != "cpu":
            return F.dropout(x, self.p)
        draws = torch.empty((x.numel() + 7) // 8, dtype=torch.int64).random_(-(2**63), None)
        bits = draws.view(torch.int8)[: x.numel()].view(x.shape)
        # Of 256 at least one stays, or there would be nothing to scale.
        lost = min(round(self.p * 256), 255)
        # Numbers, not truths: torch multiplies by truths at a fifth of the speed.
        keep = bits.to(x.dtype).ge_(lost - 128).mul_(256 / (256 - lost))
        return x * keep

    def extra_repr(self) -> str:
        return f"p={self.p}"


def set_dropout(module: nn.Module, p: float) -> None:
    """Give every dropout inside a module this probability."""
    for part in module.modules():
        if isinstance(part, Dropout):
            part.p = p
