"""Datasets by name: the public tables, and rows drawn from known distributions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from askwise.core.errors import AskwiseError, unknown_name
from askwise.data.synthetic import DISTRIBUTIONS, Distribution
from askwise.data.tables.public import PUBLIC, load_public
from askwise.data.tables.schema import Schema
from askwise.studies.compare.data import MOST_FRESH_ROWS, Dataset, Split, TableData, digest, main_metric

# Rows of a known distribution to fit on, where its name does not say.
DEFAULT_ROWS = 1000
FEWEST_ROWS = 50
# Fresh rows of a known distribution to test on, where --test-rows does not ask for fewer; those of CUBE-NM are dear.
FRESH_ROWS = {"cube-nm": 500}
FRESH_SEEDS = 1_000_000
# Rows of a known distribution that tell it from what another version draws.
FINGERPRINT_ROWS = 20


@dataclass(frozen=True, eq=False)
class KnownData(Dataset):
    """Rows drawn from a distribution of `askwise verify`; the exact greedy policy can be compared too."""

    name: str
    truth: str
    n_rows: int = DEFAULT_ROWS
    distribution: Distribution = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "distribution", DISTRIBUTIONS[self.truth]())

    @property
    def task(self) -> str:  # type: ignore[override]
        return self.distribution.task.kind

    @property
    def metric(self) -> str:  # type: ignore[override]
        return main_metric(self.task, len(getattr(self.distribution.task, "labels", ())))

    @property
    def questions(self) -> Mapping[str, Any]:  # type: ignore[override]
        return self.distribution.settings

    @property
    def schema(self) -> Schema:
        return self.distribution.schema

    @cached_property
    def fingerprint(self) -> str:
        X, y = self.distribution.sample(FINGERPRINT_ROWS, 0)
        # Rounded, since sums end in other digits on other machines.
        drawn = [np.round(X.to_numpy(dtype=np.float64), 6).tolist(), [str(label) for label in np.round(y, 6)]]
        return digest([self.truth, self.n_rows, self.schema.to_dict(), drawn])

    def split(self, seed: int, max_rows: int, test_rows: int) -> Split:
        fresh = min(test_rows, FRESH_ROWS.get(self.truth, MOST_FRESH_ROWS))
        drawn = self.distribution.sample(min(self.n_rows, max_rows), seed)
        return Split(*drawn, *self.distribution.sample(fresh, FRESH_SEEDS + seed))


def is_named(name: str) -> bool:
    """Whether a text names a dataset that comes with askwise."""
    return name in PUBLIC or name.partition(":")[0] in DISTRIBUTIONS


def named(name: str) -> Dataset:
    """A dataset of `askwise demo` or a distribution of `askwise verify`, `cube:750` with so many rows."""
    if name in PUBLIC:
        data = load_public(name)
        return TableData(
            name, data.X, data.y.to_numpy(), data.task, dict(data.costs), dict(data.groups), list(data.free)
        )
    truth, colon, rows = name.partition(":")
    if truth not in DISTRIBUTIONS:
        raise unknown_name("dataset", name, [*PUBLIC, *DISTRIBUTIONS])
    if not colon:
        return KnownData(name, truth)
    if not rows.isdecimal() or int(rows) < FEWEST_ROWS:
        raise AskwiseError(
            f"{name!r} asks for {rows!r} rows; give a whole number of at least {FEWEST_ROWS}, as in {truth}:750"
        )
    return KnownData(name, truth, int(rows))
