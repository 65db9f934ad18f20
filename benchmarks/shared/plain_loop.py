"""A plain loop of algorithm 1, to measure training against: a step at a time, as the paper prints it."""

from __future__ import annotations

import time
from collections.abc import Callable

import torch
from torch import Tensor

from askwise.core.policy import Policy
from askwise.core.rows import Rows
from askwise.core.tasks import Task
from askwise.core.walk import random_open
from benchmarks.shared.measuring import wait_for_gpu

PLAIN_BATCH, PLAIN_BATCHES = 128, 6


def plain_epoch(
    policy: Policy,
    task: Task,
    rows: Rows,
    n_steps: int,
    epsilon: float = 0.05,
    now: Callable[[], float] = time.perf_counter,
) -> float:
    """Seconds of an epoch of algorithm 1 as printed: a step at a time, with gradients, and read back by the host.

    Some batches are run, and the others reckoned from them. now: the clock, of the wall or of the CPU.
    """
    optimiser = torch.optim.Adam(policy.parameters(), lr=1e-3)
    policy.train()
    size = min(PLAIN_BATCH, len(rows) // 2)
    # The first batch is not timed: it warms up.
    n_timed = min(PLAIN_BATCHES, len(rows) // size - 1)
    start = 0.0
    for b in range(n_timed + 1):
        if b == 1:
            wait_for_gpu()
            start = now()
        _plain_batch(policy, task, rows.take(slice(b * size, (b + 1) * size)), n_steps, epsilon, optimiser)
    wait_for_gpu()
    return (now() - start) / n_timed * len(rows) / size


def _plain_batch(
    policy: Policy, task: Task, batch: Rows, n_steps: int, epsilon: float, optimiser: torch.optim.Optimizer
) -> None:
    known = torch.zeros_like(batch.available)
    optimiser.zero_grad()
    total = 0.0
    belief = policy(batch.x, policy.mask(known, batch.present))
    loss = task.loss(belief.outputs, batch.y)
    for _ in range(n_steps):
        open_ = batch.available & ~known
        best = belief.scores.detach().masked_fill(~open_, -torch.inf).argmax(1)
        random = torch.rand(len(best), device=best.device) < epsilon
        choice = torch.where(random, random_open(open_), best)[:, None]
        score = belief.scores.gather(1, choice)[:, 0]
        known = known.scatter(1, choice, True)
        belief = policy(batch.x, policy.mask(known, batch.present))
        after: Tensor = task.loss(belief.outputs, batch.y)
        step = loss.mean() + ((score - (loss - after).detach()) ** 2).mean()
        (step / n_steps).backward(retain_graph=True)
        total += step.item()
        loss = after
    optimiser.step()
