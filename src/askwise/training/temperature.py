"""One number that makes a predictor as sure as it should be: the temperature of its logits, from rows held out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import torch
from torch import Tensor
from torch.nn import functional as F

from askwise.core.policy import Policy
from askwise.core.prices import Prices
from askwise.core.row_weights import effective_rows
from askwise.core.rows import Rows, evenly
from askwise.core.walk import walk
from askwise.training.draws import seeded_rng
from askwise.training.known_sets import random_known

# More rows would not change one number.
MOST_ROWS = 2048
# How far the logarithm of a temperature lies from 0, before any row is seen: a few rows must not move it far.
SPREAD = 0.5
# Never below 1: the best epoch was chosen by these rows, so predictions look better on them than on fresh rows.
CANDIDATES = [math.exp(t / 40) for t in range(61)]
# (policy, rows, prices, how many) -> outputs in so many states of each row, and which of them count.
States = Callable[[Policy, Rows, Prices, int], Iterator[tuple[Tensor, Tensor]]]


def greedy_states(policy: Policy, rows: Rows, prices: Prices, n_states: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Outputs in the states of the greedy path; a state that repeats the one before does not count."""
    counts = torch.ones(len(rows), dtype=torch.bool, device=rows.x.device)
    for step in walk(policy, rows, prices, n_states):
        yield step.belief.outputs, counts
        counts = step.can_ask


def random_states(policy: Policy, rows: Rows, prices: Prices, n_states: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Outputs of random sets of groups, which all count: for policies whose scores are expensive."""
    del prices
    counts = torch.ones(len(rows), dtype=torch.bool, device=rows.x.device)
    with seeded_rng(rows.x.device, seed=0):
        masks = [policy.mask(random_known(rows.available), rows.present) for _ in range(n_states)]
    for mask in masks:
        yield policy(rows.x, mask, scores=False).outputs, counts


@torch.no_grad()
def fit_temperature(policy: Policy, rows: Rows, prices: Prices, n_steps: int, states: States = greedy_states) -> float:
    """The likeliest temperature, 1 or above, of the predictions in some states, under a prior around 1.

    The predictor is judged in training on rows it has learnt from; on rows it has not it is often too sure. States of
    one row are no separate evidence: each row counts once, or as its weight says.
    """
    some = rows.take(evenly(len(rows), MOST_ROWS).to(rows.x.device))
    found, answers, of_rows = [], [], []
    for batch in some.batches(policy.space.rows_at_once(some.x.device)):
        assert batch.y is not None
        found += list(states(policy, batch, prices, n_steps + 1))
        answers.append(batch.y.repeat(n_steps + 1))
        of_rows.append(batch.row_weight.repeat(n_steps + 1))
    outputs, y = torch.cat([logits for logits, _ in found]), torch.cat(answers)
    weight = torch.cat([counts for _, counts in found]) * torch.cat(of_rows).to(outputs.dtype)
    n_rows = effective_rows(None if some.weight is None else some.weight.double().cpu().numpy(), len(some))

    def negative_log_posterior(temperature: float) -> float:
        nll = F.cross_entropy(outputs / temperature, y, reduction="none")
        mean = float((nll * weight).sum() / weight.sum())
        return mean * n_rows + math.log(temperature) ** 2 / (2 * SPREAD**2)

    return min(CANDIDATES, key=negative_log_posterior)
