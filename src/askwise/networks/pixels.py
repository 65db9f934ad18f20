"""What networks on images see: normalised pixels, in which all that is unknown is 0."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from askwise.data.images.patches import PatchLayout

# Of ImageNet, which most pretrained networks were trained on; by the published statistics of its channels.
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
SEEN_CHANNELS = 3


class Pixels(nn.Module):
    """From a row's entries, 0 to 255, to images; the mask comes after normalisation, so that 0 is the mean.

    Images of one channel are repeated: networks see three.
    """

    scale: Tensor
    shift: Tensor

    def __init__(self, layout: PatchLayout, mean: Sequence[float] = MEAN, std: Sequence[float] = STD) -> None:
        super().__init__()
        self.layout = layout
        centre, spread = (torch.tensor(list(part)).view(1, -1, 1, 1, 1, 1) for part in (mean, std))
        self.register_buffer("scale", 1 / (255 * spread), persistent=False)
        self.register_buffer("shift", -centre / spread, persistent=False)

    def photo(self, x: Tensor, mask: Tensor) -> Tensor:
        """Images (batch, 3, height, width) of entries (batch, entries) and a mask (batch, columns)."""
        layout, n = self.layout, x.shape[0]
        (rows, columns), p = layout.grid, layout.patch
        blocks = x[:, : layout.n_pixels].reshape(n, layout.channels, rows, p, columns, p).to(self.scale.dtype)
        known = mask[:, : layout.n_patches].reshape(n, 1, rows, 1, columns, 1).to(blocks.dtype)
        seen = (blocks * self.scale + self.shift) * known
        return seen.reshape(n, SEEN_CHANNELS, layout.height, layout.width)

    def sketch(self, x: Tensor, mask: Tensor) -> Tensor:
        """Sketches (batch, 3, height, width), white lines 1; 0 where there is none."""
        layout = self.layout
        lines = x[:, layout.n_pixels :].reshape(x.shape[0], 1, layout.height, layout.width).to(self.scale.dtype) / 255
        return (lines * mask[:, -1:, None, None].to(lines.dtype)).expand(-1, SEEN_CHANNELS, -1, -1)
