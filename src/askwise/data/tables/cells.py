"""How errors and warnings name a row of a table, and a value in it that can't be read."""

from __future__ import annotations

from typing import Any

import numpy as np

from askwise.core.errors import AskwiseError, shortened

MOST_LETTERS = 40


def row_name(label: Any) -> str:
    """A row by its label in the index."""
    return f"row {shortened(label.item() if isinstance(label, np.generic) else label, MOST_LETTERS)}"


def unreadable(label: Any, message: str) -> AskwiseError:
    """The error for a value that can't be read. label: that of its row; message: what the column takes."""
    return AskwiseError(f"{row_name(label)}: {message}; correct it, or leave it empty")
