"""Accuracy under several rules, all cut from one rollout of a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from askwise.core.stopping import Rule
from benchmarks.shared.measuring import wall_seconds


class Cut(NamedTuple):
    """What a rule made of the test rows: groups asked on average, and accuracy in %."""

    asked: float
    accuracy: float


def cut_rollout(
    model: Any, x: np.ndarray, y: np.ndarray, rules: Sequence[Rule], device: str
) -> tuple[list[Cut], float]:
    """Groups asked and accuracy under each rule, and the seconds of the rollout that they share."""
    placed = replace(model.model_, device=device)
    prices, rows = placed.costs(), model.encode(x)
    looked_up = [placed.rule(rule, prices) for rule in rules]
    # Once before, to warm up.
    placed.trace(rows.take(slice(0, 100)), looked_up, prices)
    trace, seconds = wall_seconds(lambda: placed.trace(rows, looked_up, prices))
    found = []
    for stop in trace.stops:
        outputs, spent, _ = trace.at(stop.at)
        found.append(Cut(float(spent.mean()), 100 * float((outputs.argmax(1).numpy() == y).mean())))
    return found, seconds
