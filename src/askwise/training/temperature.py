"""One number that makes a predictor as sure as it should be: the temperature of its logits, from rows held out."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from askwise.acquisition import walk
from askwise.features import Rows
from askwise.policy import Policy

# More rows would not change one number.
MOST_ROWS = 2048
# How far the logarithm of a temperature lies from 0, before any row is seen: a few rows must not move it far.
SPREAD = 0.5
CANDIDATES = [math.exp(t / 40) for t in range(-40, 61)]


@torch.no_grad()
def fit_temperature(policy: Policy, rows: Rows, costs: Tensor, n_steps: int) -> float:
    """The likeliest temperature of the predictions along the greedy path, under a prior around 1.

    The predictor is judged in training on rows it has learnt from; on rows it has not it is often too sure. Steps of
    one row are no separate evidence: each row counts once.
    """
    assert rows.y is not None
    some = rows.take(torch.linspace(0, len(rows) - 1, min(len(rows), MOST_ROWS), device=rows.x.device).long())
    assert some.y is not None
    logits = torch.cat([step.belief.outputs for step in walk(policy, some, costs, n_steps)])
    y = some.y.repeat(n_steps)

    def badness(temperature: float) -> float:
        surprise = float(F.cross_entropy(logits / temperature, y)) * len(some)
        return surprise + math.log(temperature) ** 2 / (2 * SPREAD**2)

    return min(CANDIDATES, key=badness)
