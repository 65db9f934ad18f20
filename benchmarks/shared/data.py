"""Data of the benchmarks: read from a folder, or, for --smoke, what scikit-learn brings along."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits

Array = np.ndarray[Any, Any]
Inputs = Array | pd.DataFrame


class Split(NamedTuple):
    """Rows and answers to train, to validate and to test."""

    x: Inputs
    y: Array
    x_val: Inputs
    y_val: Array
    x_test: Inputs
    y_test: Array

    @property
    def validation(self) -> tuple[Inputs, Array]:
        return self.x_val, self.y_val

    def evaluated(self, on: str) -> tuple[Inputs, Array]:
        """The rows that figures are computed on: "validation" or "test"."""
        return self.validation if on == "validation" else (self.x_test, self.y_test)


def digits_split(folder: Path | None) -> Split:
    """Of digits_split.npz, the split that the paper's code was measured on; without a folder, a few digits."""
    if folder is None:
        return few_digits()
    data = np.load(folder / "digits_split.npz")
    return Split(*(data[f"{part}_{split}"] for split in ("train", "val", "test") for part in ("X", "y")))


def mnist_split(folder: Path | None) -> Split:
    """MNIST: 50,000 rows to train, 10,000 to validate, 10,000 to test; pixels in [0, 1].

    Without a folder, a few of scikit-learn's digits instead.
    """
    if folder is None:
        return few_digits()
    data = np.load(folder / "mnist.npz")
    x, x_test = (data[f"x_{part}"].reshape(-1, 784).astype(np.float32) / 255 for part in ("train", "test"))
    y = data["y_train"]
    return Split(x[:50_000], y[:50_000], x[50_000:], y[50_000:], x_test, data["y_test"])


def few_digits() -> Split:
    """Digits of 4 x 4 pixels in [0, 1], enough that each part has all ten."""
    digits = load_digits()
    x = (digits.images.reshape(-1, 4, 2, 4, 2).mean((2, 4)) / 16).reshape(-1, 16).astype(np.float32)
    y = digits.target
    return Split(x[:160], y[:160], x[160:240], y[160:240], x[240:300], y[240:300])


def few_digit_images() -> tuple[Array, Array]:
    """Digits as images of 8 x 8 pixels in three colours."""
    digits = load_digits()
    grey = (digits.images[:160] * 255 / 16).astype(np.uint8)
    return np.repeat(grey[..., None], 3, axis=-1), digits.target[:160]


def heart_rows(folder: Path) -> tuple[pd.DataFrame, Array]:
    """Cleveland heart disease: columns and answers of heart_cleveland.csv.gz."""
    frame = pd.read_csv(folder / "heart_cleveland.csv.gz")
    return frame, frame.pop("diameter narrowing").to_numpy()
