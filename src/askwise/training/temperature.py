"""One number that makes a predictor as sure as it should be: the temperature of its logits, from rows held out."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from askwise.acquisition import walk
from askwise.features import Rows, evenly
from askwise.policy import Policy

# More rows would not change one number.
MOST_ROWS = 2048
# How far the logarithm of a temperature lies from 0, before any row is seen: a few rows must not move it far.
SPREAD = 0.5
# Never below 1: the rows at hand chose the best epoch, so they flatter the predictor, and what seems timid is not.
CANDIDATES = [math.exp(t / 40) for t in range(61)]


@torch.no_grad()
def fit_temperature(policy: Policy, rows: Rows, costs: Tensor, n_steps: int) -> float:
    """The likeliest temperature, 1 or above, of the predictions along the greedy path, under a prior around 1.

    The predictor is judged in training on rows it has learnt from; on rows it has not it is often too sure. States of
    one row are no separate evidence: each row counts once.
    """
    some = rows.take(evenly(len(rows), MOST_ROWS).to(rows.x.device))
    assert some.y is not None
    logits, weights = [], []
    led_to = torch.ones_like(some.y, dtype=torch.bool)
    for step in walk(policy, some, costs, n_steps + 1):
        logits.append(step.belief.outputs)
        weights.append(led_to)
        led_to = step.can_ask
    outputs, weight = torch.cat(logits), torch.cat(weights).to(rows.x.dtype)
    y = some.y.repeat(n_steps + 1)

    def badness(temperature: float) -> float:
        surprise = F.cross_entropy(outputs / temperature, y, reduction="none")
        mean = float((surprise * weight).sum() / weight.sum())
        return mean * len(some) + math.log(temperature) ** 2 / (2 * SPREAD**2)

    return min(CANDIDATES, key=badness)
