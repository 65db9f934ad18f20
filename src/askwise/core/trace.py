"""Rollouts: walks until every rule has stopped every row, and what they recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from askwise.core.policy import Policy
from askwise.core.prices import Prices
from askwise.core.prior import PriorShift
from askwise.core.rows import Rows
from askwise.core.step import Step, StoppingRule, reasons
from askwise.core.tensors import full_precision, keep_memory
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

    outputs (steps + 1, rows, n_outputs); spent, best (steps + 1, rows); choice (steps, rows; -1 = none). What comes
    after every rule has stopped a row means nothing. reveals (steps, rows): which choices were not in vain, if any
    could be.
    """

    outputs: Tensor
    spent: Tensor
    best: Tensor
    choice: Tensor
    stops: tuple[Stop, ...]
    reveals: Tensor | None = None

    def at(self, index: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Outputs, spent and number asked of each row at step index (rows,)."""
        rows = torch.arange(len(index))
        return self.outputs[index, rows], self.spent[index, rows], self.n_asked[index, rows]

    def take(self, index: Tensor) -> Trace:
        """The trace of some of the rows, by their numbers."""
        stops = tuple(Stop(stop.at[index], stop.reason[index.numpy()]) for stop in self.stops)
        reveals = None if self.reveals is None else self.reveals[:, index]
        parts = self.outputs[:, index], self.spent[:, index], self.best[:, index], self.choice[:, index]
        return Trace(*parts, stops, reveals)

    @cached_property
    def n_asked(self) -> Tensor:
        """How many groups were asked at each step, but in vain, (steps + 1, rows)."""
        asked = self.choice >= 0 if self.reveals is None else self.reveals
        return torch.cat([self.choice.new_zeros(1, self.choice.shape[1]), asked.cumsum(0)])


class _Recorder:
    """Records the steps of all rows of a batch, also while some of them have left the walk."""

    def __init__(self, n_rows: int, device: torch.device, in_vain: bool) -> None:
        self.in_vain = in_vain
        self.all = torch.arange(n_rows, device=device)
        self.here = self.all
        self.log: dict[str, list[Tensor]] = {"outputs": [], "spent": [], "best": [], "choice": [], "reveals": []}

    def add(self, step: Step) -> None:
        for name, values in (("outputs", step.belief.outputs), ("spent", step.spent), ("best", step.best)):
            earlier = self.log[name]
            earlier.append(self._spread(values, earlier[-1]) if earlier else values)

    def add_choice(self, step: Step, going: Tensor) -> None:
        """Record what rows ask that go on."""
        choice = torch.where(going & step.can_ask, step.choice, -1)
        self.log["choice"].append(self._spread(choice, torch.full_like(self.all, -1)))
        if self.in_vain:
            self.log["reveals"].append(self._spread(going & step.reveals, torch.zeros_like(self.all, dtype=torch.bool)))

    def _spread(self, values: Tensor, before: Tensor) -> Tensor:
        """Values of all rows; rows that have left the walk keep those of before."""
        return values if len(self.here) == len(self.all) else before.index_copy(0, self.here, values)

    def trace(self, stops: tuple[Stop, ...]) -> Trace:
        nothing = torch.empty(0, len(self.all), dtype=torch.int64)
        found = {name: torch.stack(values).cpu() if values else nothing for name, values in self.log.items()}
        reveals = found.pop("reveals")
        return Trace(**found, stops=stops, reveals=reveals.bool() if self.in_vain else None)


class _Stops:
    """Where, and why, each rule (first dimension) stops each row."""

    def __init__(self, rules: Sequence[StoppingRule | None], rows: Rows) -> None:
        self.rules = rules
        n_rows, n_groups = rows.available.shape
        self.all_at = torch.full((len(rules), n_rows), n_groups, device=rows.x.device)
        self.all_why = torch.full_like(self.all_at, -1)
        # Of the rows that are still in the walk.
        self.at, self.why = self.all_at, self.all_why
        self.names: list[list[str]] = []

    def note_stops(self, step: Step, t: int) -> Tensor:
        """Note which rules stop which rows at step t; returns which rows go on, (rows here,)."""
        found = [reasons(rule, step) for rule in self.rules]
        self.names = [names for _, names in found]
        reason = torch.stack([index for index, _ in found])
        now = (self.why < 0) & (reason >= 0)
        self.at, self.why = torch.where(now, t, self.at), torch.where(now, reason, self.why)
        return self.why.amin(0) < 0

    def store(self, here: Tensor) -> None:
        """Write what was noted of the rows that are here to the table of all rows."""
        self.all_at, self.all_why = (
            self.all_at.index_copy(1, here, self.at),
            self.all_why.index_copy(1, here, self.why),
        )

    def keep(self, index: Tensor) -> None:
        self.at, self.why = self.at[:, index], self.why[:, index]

    def result(self) -> tuple[Stop, ...]:
        each = zip(self.all_at.cpu(), self.all_why.cpu(), self.names, strict=True)
        return tuple(Stop(at, np.array(names, dtype=object)[why.numpy()]) for at, why, names in each)


def _roll(path: Walk, rules: Sequence[StoppingRule | None]) -> Trace:
    """Walk one batch until each rule has stopped each row."""
    n_rows, n_groups = path.rows.available.shape
    record, stops = _Recorder(n_rows, path.rows.x.device, path.rows.tries), _Stops(rules, path.rows)
    for t in range(n_groups + 1):
        step = path.step()
        going = stops.note_stops(step, t)
        record.add(step)
        n_going = int(going.sum())
        if not n_going:
            break
        record.add_choice(step, going)
        path.advance(step)
        if n_going < MOST_STANDING * len(record.here):
            stops.store(record.here)
            index = going.nonzero()[:, 0]
            path.keep(index)
            stops.keep(index)
            record.here = record.here[index]
    stops.store(record.here)
    return record.trace(stops.result())


def _join(traces: Sequence[Trace]) -> Trace:
    """One trace of several batches of rows; shorter ones are held at their last step."""
    if len(traces) == 1:
        return traces[0]
    length = max(len(t.spent) for t in traces)

    def held(part: Tensor) -> Tensor:
        return torch.cat([part, part[-1:].expand(length - len(part), *part.shape[1:])])

    def padded(choice: Tensor) -> Tensor:
        return torch.cat([choice, choice.new_full((length - 1 - len(choice), choice.shape[1]), -1)])

    def padded_with_no(reveals: Tensor | None) -> Tensor:
        assert reveals is not None
        return torch.cat([reveals, reveals.new_zeros((length - 1 - len(reveals), reveals.shape[1]))])

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
        None if traces[0].reveals is None else torch.cat([padded_with_no(t.reveals) for t in traces], 1),
    )


@torch.no_grad()
def rollout(
    policy: Policy,
    rows: Rows,
    prices: Prices,
    rules: Sequence[StoppingRule | None],
    walked_by: StoppingRule | None = None,
    place: Callable[[Rows], Rows] = lambda rows: rows,
    batch_size: int | None = None,
    progress: Callable[[float], None] | None = None,
    exact: Policy | None = None,
    shift: PriorShift | None = None,
) -> Trace:
    """Roll every row out until each of `rules` has stopped it (None: until nothing is left).

    walked_by: the rule whose `allows` limits what may be chosen on the way; rules without `allows` share a walk.
    place: moves a batch to the policy's device. exact: the policy in float64, which decides where two values are
    nearly equal, or one is nearly at a threshold. So a row is asked the same in a batch, alone and in a session. shift:
    moves predictions to another prevalence.
    """
    keep_memory()
    traces = []
    size = batch_size or policy.space.rows_at_once(prices.costs.device)
    for i, batch in enumerate(rows.batches(size)):
        with full_precision():
            traces.append(_roll(Walk(policy, place(batch), prices, walked_by, exact, rules, shift), rules))
        if progress is not None:
            progress(min(1.0, (i + 1) * size / len(rows)))
    return _join(traces)
