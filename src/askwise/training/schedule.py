"""Default settings of training that depend on the number of rows."""

from __future__ import annotations

import math

SMALLEST_BATCH, LARGEST_BATCH = 64, 512
FEWEST_EPOCHS, MOST_EPOCHS = 4, 100
NARROW = 128
# Of so many rows on, networks are wider, and with very many columns wider still: on a GPU it costs next to nothing.
ROWS_FOR_WIDE, WIDE = 10_000, {"cpu": 256, "cuda": 512}
COLUMNS_FOR_WIDEST, WIDEST = 256, {"cpu": 256, "cuda": 1024}
# More rows are learnt from longer, up to so many times.
ROWS_FOR_LONGER, LONGEST = 8_000, 2.5


def batch_size_for(n_rows: int) -> int:
    """A power of two near a sixteenth of the rows: small tables need many updates, large ones throughput."""
    return int(min(LARGEST_BATCH, max(SMALLEST_BATCH, 2 ** round(math.log2(max(n_rows, 1) / 16)))))


def epochs_for(n_rows: int, batch_size: int, updates: int) -> int:
    """Epochs that give about this many updates: a few passes at least over large tables, a hundred at most over small
    ones, which are known by heart by then."""
    return min(MOST_EPOCHS, max(FEWEST_EPOCHS, math.ceil(updates / math.ceil(n_rows / batch_size))))


def hidden_for(n_rows: int, n_columns: int, device: str) -> int:
    """The width of hidden layers: wider if there is more to learn from."""
    if n_rows < ROWS_FOR_WIDE:
        return NARROW
    width = WIDE if n_columns < COLUMNS_FOR_WIDEST else WIDEST
    return width.get(device, width["cpu"])


def longer_for(n_rows: int, most: float = LONGEST) -> float:
    """How many times as long a stage is, the more rows there are."""
    return min(most, max(1.0, n_rows / ROWS_FOR_LONGER))


def dropout_for(n_rows: int) -> float:
    """Less dropout the more rows there are: 0.3 for a few hundred, 0.2 at a thousand, 0.08 at fifty thousand."""
    return min(0.3, 0.2 * (1000 / max(n_rows, 1)) ** 0.25)


def patience_for(epochs: int) -> int:
    """Epochs without improvement after which to stop: many, since the learning rate falls until the end."""
    return max(10, math.ceil(epochs / 3))
