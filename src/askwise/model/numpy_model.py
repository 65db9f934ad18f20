"""A model of a table that loads and asks without torch: its networks are numpy arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from askwise.core.arrays import Array
from askwise.core.belief import OneRow
from askwise.core.errors import AskwiseError
from askwise.core.ranking import Ranking, ranking_of
from askwise.model import file
from askwise.model.session_model import SessionModel
from askwise.networks.one_row import Layer, MlpRow, RowNetworks, Units


@dataclass(eq=False, kw_only=True)
class NumpyModel(SessionModel):
    """Asks the same questions and gives the same answers as the model it was saved from, one case at a time.

    `Session(NumpyModel.load("heart.askwise"))` starts in a fraction of the time and memory that torch takes.
    """

    networks: RowNetworks
    scores_are_information: bool
    discount: float = 0.0

    @staticmethod
    def load(path: str | Path) -> NumpyModel:
        """Load a model file; raises if its method or its networks need torch."""
        contents = file.read(path)
        if not can_load(contents):
            raise AskwiseError(
                f"{path} can't be run without torch: its networks are not plain perceptrons, or it was written before "
                "files said how to run them in numpy; use askwise.load(path)"
            )
        with file.telling_of_damage(path):
            return of_contents(contents)

    @property
    def is_information(self) -> bool:
        return self.scores_are_information

    @property
    def ranking(self) -> Ranking:
        return ranking_of(self.schema.space, self.is_information, self.discount)

    @property
    def base_rate(self) -> Array | None:
        return self.networks.units.base_rate

    @property
    def one_row(self) -> Callable[[], OneRow]:
        return partial(MlpRow, self.networks)


def can_load(contents: file.Contents) -> bool:
    """Whether a file says how to run its networks in numpy."""
    return contents.header.get("numpy") is not None


def of_contents(contents: file.Contents) -> NumpyModel:
    """The model in a file that was read already."""
    facts, parts = contents.header["numpy"], contents.model_parts()
    base_rate, discount = facts.get("base_rate"), facts.get("discount", 0.0)
    units = Units(
        facts["outputs"],
        facts["scores"],
        facts["scaling"],
        facts["score_outputs"],
        None if base_rate is None else np.array(base_rate),
        discount > 0,
    )
    chains = [[_layer(contents.weights, names) for names in perceptron] for perceptron in facts["layers"]]
    return NumpyModel(
        networks=RowNetworks(parts["schema"].space, chains, units),
        scores_are_information=facts["is_information"],
        discount=discount,
        fingerprint=contents.fingerprint,
        **parts,
    )


def _layer(weights: dict[str, Any], names: list[str]) -> Layer:
    """Layers of the same inputs, side by side, as one."""
    return Layer(_joined(weights, names, "weight"), _joined(weights, names, "bias"))


def _joined(weights: dict[str, Any], names: list[str], part: str) -> Array:
    return np.concatenate([np.asarray(weights[f"{name}.{part}"], dtype=np.float64) for name in names])
