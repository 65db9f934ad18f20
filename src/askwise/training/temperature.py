"""One number that makes a predictor as sure as it should be: the temperature of its logits, from rows held out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from askwise.core.policy import Policy
from askwise.core.prices import Prices
from askwise.core.row_weights import effective_rows
from askwise.core.rows import Rows, evenly
from askwise.core.tasks import cross_entropy
from askwise.core.walk import walk
from askwise.training.draws import seeded_rng
from askwise.training.known_sets import random_known
from askwise.training.weights import StateWeights

# More rows would not change one number.
MOST_ROWS = 2048
# How far the logarithm of a temperature lies from 0, before any row is seen: a few rows must not move it far.
SPREAD = 0.5
# Never below 1: the best epoch was chosen by these rows, so predictions look better on them than on fresh rows.
CANDIDATES = [math.exp(t / 40) for t in range(61)]
# (policy, rows, prices, how many) -> so many states of each row: outputs, known groups, and which of them count.
States = Callable[[Policy, Rows, Prices, int], Iterator[tuple[Tensor, Tensor, Tensor]]]


def greedy_states(policy: Policy, rows: Rows, prices: Prices, n_states: int) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """The states of the greedy path; one that repeats the one before does not count."""
    counts = torch.ones(len(rows), dtype=torch.bool, device=rows.x.device)
    for step in walk(policy, rows, prices, n_states):
        yield step.belief.outputs, step.known, counts
        counts = step.reveals


def random_states(policy: Policy, rows: Rows, prices: Prices, n_states: int) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Random sets of groups, which all count: for policies whose scores are expensive."""
    del prices
    counts = torch.ones(len(rows), dtype=torch.bool, device=rows.x.device)
    with seeded_rng(rows.x.device, seed=0):
        sets = [random_known(rows.available) for _ in range(n_states)]
    for known in sets:
        yield policy(rows.x, policy.mask(known, rows.present), scores=False).outputs, known, counts


@torch.no_grad()
def fit_temperature(
    policy: Policy,
    rows: Rows,
    prices: Prices,
    n_steps: int,
    states: States = greedy_states,
    weights: StateWeights | None = None,
) -> float:
    """The likeliest temperature, 1 or above, of the predictions in some states, under a prior around 1.

    The predictor is judged in training on rows it has learnt from; on rows it has not it is often too sure. States of
    one row are no separate evidence: each row counts once, or as its weight says.
    """
    some = rows.take(evenly(len(rows), MOST_ROWS).to(rows.x.device))
    judge, batches = weights or StateWeights(), []
    for batch in some.batches(policy.space.rows_at_once(some.x.device)):
        found = list(states(policy, batch, prices, n_steps + 1))
        logits, known, counts = (torch.stack(part) for part in zip(*found, strict=True))
        judged = judge.of_predictions(batch, known, batch.row_weight)
        batches.append((logits.flatten(0, 1), judged, (judged.weight * counts).flatten()))
    n_rows = effective_rows(None if some.weight is None else some.weight.double().cpu().numpy(), len(some))
    total = sum(float(weight.sum()) for _, _, weight in batches)

    def negative_log_posterior(temperature: float) -> float:
        losses = ((judged.losses(cross_entropy, logits / temperature), weight) for logits, judged, weight in batches)
        nll = sum(float((loss * weight).sum()) for loss, weight in losses)
        return nll / total * n_rows + math.log(temperature) ** 2 / (2 * SPREAD**2)

    return min(CANDIDATES, key=negative_log_posterior)
