"""Images varied at random while a network learns from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch.nn import functional as F

from askwise.core.rows import Rows
from askwise.data.images.patches import PatchLayout

VARIATIONS = ("shift", "zoom", "flip")
# How far an image is moved, as a share of its size, and how much larger it gets, at most.
MOST_SHIFT, MOST_ZOOM = 0.08, 1.3


class Varied:
    """Moves, magnifies and mirrors images, a sketch with its photo.

    On the device and in one operation, so that it is recorded with the update it serves. Patches that are absent stay
    where they are in the image, which moves under them.
    """

    def __init__(self, layout: PatchLayout, ways: Sequence[str]) -> None:
        self.layout = layout
        self.ways = ways

    def __call__(self, rows: Rows) -> Rows:
        if not self.ways:
            return rows
        layout, n = self.layout, len(rows)
        x = rows.x.view(n, -1, layout.height, layout.width).float()
        one, zero = x.new_ones(n), x.new_zeros(n)
        zoom = MOST_ZOOM ** torch.rand_like(one) if "zoom" in self.ways else one
        mirror = torch.where(torch.rand_like(one) < 0.5, -1.0, 1.0) if "flip" in self.ways else one
        # What a magnified image has room for and, where it may move, a little more.
        room = 1 - 1 / zoom + (2 * MOST_SHIFT if "shift" in self.ways else 0.0)
        right, low = ((2 * torch.rand_like(one) - 1) * room for _ in range(2))
        place = torch.stack([mirror / zoom, zero, right, zero, 1 / zoom, low], 1).view(n, 2, 3)
        grid = F.affine_grid(place, list(x.shape), align_corners=False)
        moved = F.grid_sample(x, grid, padding_mode="reflection", align_corners=False)
        return replace(rows, x=moved.flatten(1))
