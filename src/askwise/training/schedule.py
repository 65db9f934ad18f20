"""How long to train: batch sizes and numbers of epochs that fit the number of rows."""

from __future__ import annotations

import math

SMALLEST_BATCH, LARGEST_BATCH = 64, 512
FEWEST_EPOCHS = 4


def batch_size_for(n_rows: int) -> int:
    """A power of two near a sixteenth of the rows: small tables need many updates, large ones throughput."""
    return int(min(LARGEST_BATCH, max(SMALLEST_BATCH, 2 ** round(math.log2(max(n_rows, 1) / 16)))))


def epochs_for(n_rows: int, batch_size: int, updates: int) -> int:
    """Epochs that give about this many updates, and at least a few passes over large tables."""
    return max(FEWEST_EPOCHS, math.ceil(updates / math.ceil(n_rows / batch_size)))


def patience_for(epochs: int) -> int:
    """Epochs without improvement after which to stop: many, since the learning rate falls until the end."""
    return max(10, math.ceil(epochs / 3))
