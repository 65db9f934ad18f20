"""The data of SEFA's table (ICML 2025), as its authors make them; without a folder, small stand-ins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from askwise.data.synthetic.cube import N_COLUMNS, N_LABELS, cube_means
from benchmarks.shared.data import Array, Split, few_digits

# The authors' seed. Their shuffle is not ours, so that the parts have the same sizes but other rows.
SEED = 9675
# Rows to train, to validate and to test, of what is drawn.
DRAWN, FEW_DRAWN = (60_000, 10_000, 10_000), (120, 60, 60)
PIXELS = {
    "mnist": (153, 154, 210, 211, 243, 269, 271, 295, 327, 348, 350, 375, 405, 409, 427, 430, 461, 514, 543, 655),
    "fashion_mnist": (10, 38, 121, 146, 202, 246, 248, 341, 343, 362, 406, 434, 454, 490, 546, 574, 580, 602, 742, 770),
}  # fmt: skip

BANK_COLUMNS = (
    "age", "balance", "duration", "date", "campaign", "pdays", "previous", "job", "marital", "education", "default",
    "housing", "loan", "contact", "poutcome",
)  # fmt: skip
# The value that means that nothing is known.
BANK_MISSING = {"job": "unknown", "education": "unknown", "contact": "unknown", "poutcome": "other"}
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
DAYS_BEFORE = (0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334)
NEVER_CALLED = -500

HOUSING_FILE = ("longitude", "latitude", "age", "rooms", "bedrooms", "population", "households", "income", "value")
HOUSING_BINS = 4

# Of the cube: around their means, the columns that tell and the others.
TELLING_SIGMA, OTHER_SIGMA = 0.1, 0.3

# Which columns of x1..x10 each of L1, L2, L3 needs, by position; x11 says which of two of them holds.
NEEDED = ((0, 1), (2, 3, 4, 5), (6, 7, 8, 9))
SWITCH = 10
SYN = {"syn1": (0, 1), "syn2": (0, 2), "syn3": (1, 2)}


def parts(x: Any, y: Array) -> Split:
    """Shuffled, .8 to train, .1 to validate, .1 to test."""
    order = np.random.default_rng(SEED).permutation(len(y))
    cuts = np.split(order, [round(0.8 * len(y)), round(0.9 * len(y))])
    return Split(*(held for cut in cuts for held in (x.iloc[cut].reset_index(drop=True), y[cut])))


def bank(folder: Path | None) -> Split:
    """Bank marketing, 15 features; some categories are missing."""
    raw = few_calls() if folder is None else pd.read_csv(folder / "bank-full.csv.gz", sep=";")
    before = raw["month"].map(dict(zip(MONTHS, DAYS_BEFORE, strict=True)))
    frame = raw.assign(date=before + raw["day"], pdays=raw["pdays"].replace(-1, NEVER_CALLED))
    for name, unknown in BANK_MISSING.items():
        frame[name] = frame[name].where(frame[name] != unknown)
    return parts(frame[list(BANK_COLUMNS)], raw["y"].to_numpy())


def few_calls(n_rows: int = 240) -> pd.DataFrame:
    """Rows drawn in the form of bank-full.csv."""
    rng = np.random.default_rng(0)
    numbers = ("age", "balance", "duration", "campaign", "previous")
    frame = pd.DataFrame({name: rng.integers(0, 100, n_rows) for name in numbers})
    frame = frame.assign(day=rng.integers(1, 29, n_rows), month=rng.choice(MONTHS, n_rows), pdays=-1)
    for name in ("job", "marital", "education", "default", "housing", "loan", "contact", "poutcome"):
        frame[name] = rng.choice(["yes", "no", "unknown", "other"], n_rows)
    return frame.assign(y=np.where(frame["duration"] + rng.normal(0, 20, n_rows) > 50, "yes", "no"))


def housing_rows(folder: Path | None) -> pd.DataFrame:
    """California housing as its file has it, with the columns of HOUSING_FILE."""
    if folder is None:
        rows = pd.DataFrame(np.random.default_rng(0).uniform(1, 9, (240, 9)), columns=list(HOUSING_FILE))
        return rows.assign(value=1e4 * (rows["income"] + rows["age"]))
    return pd.read_csv(folder / "cal_housing.data.gz", header=None, names=list(HOUSING_FILE))


def housing_features(rows: pd.DataFrame) -> pd.DataFrame:
    """The eight features of scikit-learn's version."""
    homes = rows["households"]
    return pd.DataFrame(
        {
            "income": rows["income"],
            "age": rows["age"],
            "rooms": rows["rooms"] / homes,
            "bedrooms": rows["bedrooms"] / homes,
            "population": rows["population"],
            "occupants": rows["population"] / homes,
            "latitude": rows["latitude"],
            "longitude": rows["longitude"],
        }
    )


def housing(folder: Path | None) -> Split:
    """California housing: which of four bins, equally full, a value lies in."""
    rows = housing_rows(folder)
    return parts(housing_features(rows), pd.qcut(rows["value"], HOUSING_BINS, labels=False).to_numpy())


def pixels(folder: Path | None, name: str) -> Split:
    """Twenty fixed pixels of MNIST or Fashion-MNIST: 50,000 / 10,000 / 10,000 rows."""
    if folder is None:
        few = few_digits()
        return Split(few.x[:, 4:8], few.y, few.x_val[:, 4:8], few.y_val, few.x_test[:, 4:8], few.y_test)
    with np.load(folder / f"{name}.npz") as data:
        kept = list(PIXELS[name])
        x, x_test = (data[f"x_{part}"].reshape(-1, 784)[:, kept].astype(np.float32) / 255 for part in ("train", "test"))
        y, y_test = data["y_train"], data["y_test"]
    return Split(x[:50_000], y[:50_000], x[50_000:], y[50_000:], x_test, y_test)


def cube(sizes: tuple[int, ...] = DRAWN) -> Split:
    """CUBE, whose three columns that tell have less noise than the others."""
    rng, means = np.random.default_rng(SEED), cube_means()
    y = rng.integers(0, N_LABELS, sum(sizes))
    sigma = np.where(means == 0.5, OTHER_SIGMA, TELLING_SIGMA)
    return _cut(rng.normal(means[y], sigma[y]), y, sizes, [f"x{c}" for c in range(N_COLUMNS)])


def syn(name: str, sizes: tuple[int, ...] = DRAWN) -> Split:
    """Syn1 to Syn3: x11 says which of two functions of other columns the label hangs on."""
    rng = np.random.default_rng(SEED)
    x = rng.standard_normal((sum(sizes), SWITCH + 1))
    functions = (
        4 * x[:, 0] * x[:, 1],
        1.2 * (x[:, 2:6] ** 2).sum(1) - 4.2,
        -10 * np.sin(0.2 * x[:, 6]) + np.abs(x[:, 7]) + x[:, 8] + np.exp(-x[:, 9]) - 2.4,
    )
    first, second = SYN[name]
    logit = np.where(x[:, SWITCH] < 0, functions[first], functions[second])
    y = (rng.random(len(x)) < 1 / (1 + np.exp(logit))).astype(int)
    return _cut(x, y, sizes, [f"x{c + 1}" for c in range(SWITCH + 1)])


def syn_needed(name: str, x: pd.DataFrame) -> Array:
    """Which columns each row needs, (rows, columns): x11, and those of the function that holds."""
    needed = np.zeros(x.shape, dtype=bool)
    needed[:, SWITCH] = True
    below = x.to_numpy()[:, SWITCH] < 0
    for rows, function in zip((below, ~below), SYN[name], strict=True):
        needed[np.ix_(rows, NEEDED[function])] = True
    return needed


def _cut(x: Array, y: Array, sizes: tuple[int, ...], names: list[str]) -> Split:
    """Consecutive parts of these sizes."""
    cuts = np.split(np.arange(len(y)), np.cumsum(sizes)[:-1])
    return Split(*(held for cut in cuts for held in (pd.DataFrame(x[cut], columns=names), y[cut])))
