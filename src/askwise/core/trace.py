"""Rollouts: walks until every rule has stopped every row, and what they recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from askwise.core.arrays import (
    full_precision,
    keep_memory,
)
from askwise.core.policy import Policy
from askwise.core.rows import Rows
from askwise.core.step import StoppingRule, reasons
from askwise.core.walk import Walk

# Rows that have stopped leave a batch once they are more than a fifth of it: copying the others takes time too.
MOST_STANDING = 0.8


@dataclass(frozen=True)
class Stop:
    """Where a rule cuts a trace: the step `at` which each row stopped, and why."""

    at: Tensor
    reason: np.ndarray[Any, Any]


@dataclass(frozen=True)
class Trace:
    """A rollout, and where each rule cut it.

    outputs (steps + 1, rows, n_outputs); spent, best (steps + 1, rows); choice (steps, rows; -1 = none). Of a row that
    every rule has stopped, what comes later means nothing.
    """

    outputs: Tensor
    spent: Tensor
    best: Tensor
    choice: Tensor
    stops: tuple[Stop, ...]

    def at(self, index: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Outputs, spent and number asked of each row at step index (rows,)."""
        rows = torch.arange(len(index))
        return self.outputs[index, rows], self.spent[index, rows], self._asked[index, rows]

    def take(self, index: Tensor) -> Trace:
        """Of some of the rows, by their numbers."""
        stops = tuple(Stop(stop.at[index], stop.reason[index.numpy()]) for stop in self.stops)
        return Trace(self.outputs[:, index], self.spent[:, index], self.best[:, index], self.choice[:, index], stops)

    @cached_property
    def _asked(self) -> Tensor:
        """How many groups are known at each step, (steps + 1, rows)."""
        return torch.cat([self.choice.new_zeros(1, self.choice.shape[1]), (self.choice >= 0).cumsum(0)])


def _roll(
    policy: Policy,
    rows: Rows,
    costs: Tensor,
    rules: Sequence[StoppingRule | None],
    walked_by: StoppingRule | None,
    exact: Policy | None,
) -> Trace:
    n_groups = rows.available.shape[1]
    log: dict[str, list[Tensor]] = {"outputs": [], "spent": [], "best": [], "choice": []}
    path = Walk(policy, rows, costs, walked_by, exact, rules)
    # Where and why each rule (first dimension) stops each row; for all rows, and for those still here.
    all_at = torch.full((len(rules), len(rows)), n_groups, device=rows.x.device)
    all_why = torch.full_like(all_at, -1)
    at, why, here = all_at, all_why, torch.arange(len(rows), device=rows.x.device)

    def note(name: str, values: Tensor, before: Tensor | None) -> None:
        """Keep the values of all rows; those that have left the walk stay as they were `before`."""
        log[name].append(values if before is None or len(here) == len(before) else before.index_copy(0, here, values))

    for t in range(n_groups + 1):
        step = path.step()
        found = [reasons(rule, step) for rule in rules]
        reason = torch.stack([index for index, _ in found])
        now = (why < 0) & (reason >= 0)
        at, why = torch.where(now, t, at), torch.where(now, reason, why)
        going = why.amin(0) < 0
        for name, values in (("outputs", step.belief.outputs), ("spent", step.spent), ("best", step.best)):
            note(name, values, log[name][-1] if t else None)
        n_going = int(going.sum())
        if n_going:
            note("choice", torch.where(going & step.can_ask, step.choice, -1), torch.full_like(all_at[0], -1))
            path.go_on(step)
        if not n_going or n_going < MOST_STANDING * len(here):
            all_at, all_why = all_at.index_copy(1, here, at), all_why.index_copy(1, here, why)
            if not n_going:
                break
            index = going.nonzero()[:, 0]
            path.keep(index)
            at, why, here = at[:, index], why[:, index], here[index]
    stops = tuple(
        Stop(a, np.array(names, dtype=object)[w.numpy()])
        for a, w, (_, names) in zip(all_at.cpu(), all_why.cpu(), found, strict=True)
    )
    no_choice = torch.empty(0, len(rows), dtype=torch.int64)
    return Trace(
        **{name: torch.stack(values).cpu() if values else no_choice for name, values in log.items()}, stops=stops
    )


def _join(traces: Sequence[Trace]) -> Trace:
    """One trace of several batches of rows; shorter ones are held at their last step."""
    if len(traces) == 1:
        return traces[0]
    length = max(len(t.spent) for t in traces)

    def held(part: Tensor) -> Tensor:
        return torch.cat([part, part[-1:].expand(length - len(part), *part.shape[1:])])

    def padded(choice: Tensor) -> Tensor:
        return torch.cat([choice, choice.new_full((length - 1 - len(choice), choice.shape[1]), -1)])

    stops = tuple(
        Stop(torch.cat([s.at for s in same]), np.concatenate([s.reason for s in same]))
        for same in zip(*(t.stops for t in traces), strict=True)
    )
    return Trace(
        torch.cat([held(t.outputs) for t in traces], 1),
        torch.cat([held(t.spent) for t in traces], 1),
        torch.cat([held(t.best) for t in traces], 1),
        torch.cat([padded(t.choice) for t in traces], 1),
        stops,
    )


@torch.no_grad()
def rollout(
    policy: Policy,
    rows: Rows,
    costs: Tensor,
    rules: Sequence[StoppingRule | None],
    walked_by: StoppingRule | None = None,
    place: Callable[[Rows], Rows] = lambda rows: rows,
    batch_size: int | None = None,
    progress: Callable[[float], None] | None = None,
    exact: Policy | None = None,
) -> Trace:
    """Roll every row out until each of `rules` has stopped it (None: until nothing is left).

    `walked_by` is the rule whose `allows` limits what may be chosen on the way: rules without `allows` share a walk.
    `place` brings a batch to where the policy is. `exact`: the policy in float64, which decides where the values of two
    groups are nearly equal, or one is nearly at a threshold, so that a row is asked the same in a batch, alone and in a
    session.
    """
    keep_memory()
    traces = []
    size = batch_size or policy.space.rows_at_once(costs.device)
    for i, batch in enumerate(rows.batches(size)):
        with full_precision():
            traces.append(_roll(policy, place(batch), costs, rules, walked_by, exact))
        if progress is not None:
            progress(min(1.0, (i + 1) * size / len(rows)))
    return _join(traces)
