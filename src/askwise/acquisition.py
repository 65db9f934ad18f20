"""The greedy step and the walk along it: the only place where a question is chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from askwise.features import Rows
from askwise.policy import Belief, Policy
from askwise.tasks import entropy

NOTHING_LEFT = "nothing-left"


@dataclass(frozen=True)
class Step:
    """One moment of a batch of cases, before the next question is asked.

    known, open (batch, groups): answered; askable, that is neither known nor unavailable. spent (batch,).
    values (batch, groups): score per cost, -inf where it can't be asked or paid. best, choice (batch,): the largest
    value and its group; `can_ask` is False where nothing can be chosen.
    """

    belief: Belief
    known: Tensor
    open: Tensor
    spent: Tensor
    costs: Tensor
    values: Tensor
    best: Tensor
    choice: Tensor

    # Many rules look at one step: what they share is computed once.
    @cached_property
    def can_ask(self) -> Tensor:
        return self.best > -torch.inf

    @cached_property
    def any_open(self) -> Tensor:
        return self.open.any(1)

    @cached_property
    def entropy(self) -> Tensor:
        """H(y | x_S) of the prediction in nats, (batch,); classes only."""
        return entropy(self.belief.outputs)

    @property
    def n_asked(self) -> Tensor:
        return self.known.sum(1)

    @property
    def known_next(self) -> Tensor:
        """What is known once the choice is answered; unchanged where nothing can be asked."""
        chosen = torch.zeros_like(self.known).scatter(1, self.choice[:, None], self.can_ask[:, None])
        return self.known | chosen

    @property
    def spent_next(self) -> Tensor:
        return self.spent + self.costs[self.choice] * self.can_ask


class StoppingRule(Protocol):
    """What a rule must have. `allows(spent, costs) -> (batch, groups)` is optional: which groups it lets one pay."""

    def stops(self, step: Step) -> Tensor:
        """Which cases stop here, (batch,)."""
        ...


def price(policy: Policy, scores: Tensor, costs: Tensor) -> Tensor:
    """Score per cost, never below 0, where scores are information; else the scores themselves."""
    return scores.clamp_min(0) / costs if policy.is_information else scores


def propose(
    policy: Policy,
    belief: Belief,
    known: Tensor,
    available: Tensor,
    spent: Tensor,
    costs: Tensor,
    rule: StoppingRule | None = None,
) -> Step:
    """The step at `known`: the best group per cost among those that are open, available and affordable.

    Exact ties go to the cheaper group, then to the first.
    """
    assert belief.scores is not None
    open_ = available & ~known
    allows = getattr(rule, "allows", None)
    candidates = open_ if allows is None else open_ & allows(spent, costs)
    values = price(policy, belief.scores, costs).masked_fill(~candidates, -torch.inf)
    # With the cheap groups in front, the first of several equal maxima is the cheaper one, then the first.
    cheap_first = torch.argsort(costs, stable=True)
    best, place = values[:, cheap_first].max(1)
    return Step(belief, known, open_, spent, costs, values, best, cheap_first[place])


def random_open(open_: Tensor) -> Tensor:
    """A random one of each row's open groups, (batch,), from (batch, groups); any where none is open."""
    return torch.rand(open_.shape, device=open_.device).masked_fill(~open_, -1).argmax(1)


def explore(step: Step, epsilon: Tensor) -> Step:
    """The same step with, at probability epsilon, a random open group for its choice."""
    other = random_open(step.open)
    random = torch.rand(len(other), device=other.device) < epsilon
    return replace(step, choice=torch.where(random, other, step.choice))


def walk(
    policy: Policy,
    rows: Rows,
    costs: Tensor,
    n_steps: int,
    rule: StoppingRule | None = None,
    epsilon: Tensor | None = None,
) -> Iterator[Step]:
    """The first `n_steps` steps of each row, asking the best group each time; no host synchronisation."""
    known = torch.zeros_like(rows.available)
    spent = torch.zeros(len(rows), dtype=rows.x.dtype, device=rows.x.device)
    for _ in range(n_steps):
        belief = policy(rows.x, policy.mask(known, rows.present))
        step = propose(policy, belief, known, rows.available, spent, costs, rule)
        if epsilon is not None:
            step = explore(step, epsilon)
        yield step
        known, spent = step.known_next, step.spent_next


def rule_name(rule: object) -> str:
    """The reason a rule gives for stopping: its `name`, else its class's."""
    return str(getattr(rule, "name", type(rule).__name__))


def reasons(rule: StoppingRule | None, step: Step) -> tuple[Tensor, list[str]]:
    """Why each case stops here, as an index into the returned names; -1 where it goes on."""
    names = [NOTHING_LEFT]
    reason = torch.where(step.any_open, -1, 0)
    parts = getattr(rule, "parts", () if rule is None else (rule,))
    for part in parts:
        names.append(rule_name(part))
        reason = torch.where((reason < 0) & part.stops(step), len(names) - 1, reason)
    # A rule that allows nothing more has stopped the case, whether it says so or not.
    limiting = next((part for part in parts if hasattr(part, "allows")), None)
    names.append(NOTHING_LEFT if limiting is None else rule_name(limiting))
    return torch.where((reason < 0) & ~step.can_ask, len(names) - 1, reason), names


@dataclass(frozen=True)
class Stop:
    """Where a rule cuts a trace: the step `at` which each row stopped, and why."""

    at: Tensor
    reason: np.ndarray[Any, Any]


@dataclass(frozen=True)
class Trace:
    """A rollout, and where each rule cut it.

    outputs (steps + 1, rows, n_outputs); spent, best (steps + 1, rows); choice (steps, rows; -1 = none).
    """

    outputs: Tensor
    spent: Tensor
    best: Tensor
    choice: Tensor
    stops: tuple[Stop, ...]

    def at(self, index: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Outputs, spent and number asked of each row at step index (rows,)."""
        rows = torch.arange(len(index))
        asked = torch.cat([self.choice.new_zeros(1, len(index)), (self.choice >= 0).cumsum(0)])
        return self.outputs[index, rows], self.spent[index, rows], asked[index, rows]


def _roll(
    policy: Policy, rows: Rows, costs: Tensor, rules: Sequence[StoppingRule | None], walked_by: StoppingRule | None
) -> Trace:
    n_groups = rows.available.shape[1]
    outputs, spent, best, choice = [], [], [], []
    at = [torch.full((len(rows),), n_groups, device=rows.x.device) for _ in rules]
    why = [torch.full((len(rows),), -1, device=rows.x.device) for _ in rules]
    names: list[list[str]] = [[] for _ in rules]
    for t, step in enumerate(walk(policy, rows, costs, n_groups + 1, walked_by)):
        going = torch.zeros(len(rows), dtype=torch.bool, device=rows.x.device)
        for r, rule in enumerate(rules):
            reason, names[r] = reasons(rule, step)
            now = (why[r] < 0) & (reason >= 0)
            at[r] = torch.where(now, t, at[r])
            why[r] = torch.where(now, reason, why[r])
            going |= why[r] < 0
        outputs.append(step.belief.outputs)
        spent.append(step.spent)
        best.append(step.best)
        if not bool(going.any()):
            break
        choice.append(torch.where(going & step.can_ask, step.choice, -1))
    stops = tuple(
        Stop(a.cpu(), np.array(n, dtype=object)[w.cpu().numpy()]) for a, w, n in zip(at, why, names, strict=True)
    )
    no_choice = torch.empty(0, len(rows), dtype=torch.int64)
    return Trace(
        torch.stack(outputs).cpu(),
        torch.stack(spent).cpu(),
        torch.stack(best).cpu(),
        torch.stack(choice).cpu() if choice else no_choice,
        stops,
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
    batch_size: int = 4096,
    progress: Callable[[float], None] | None = None,
) -> Trace:
    """Roll every row out until each of `rules` has stopped it (None: until nothing is left).

    `walked_by` is the rule whose `allows` limits what may be chosen on the way: rules without `allows` share a walk.
    `place` brings a batch to where the policy is.
    """
    traces = []
    for i, batch in enumerate(rows.batches(batch_size)):
        traces.append(_roll(policy, place(batch), costs, rules, walked_by))
        if progress is not None:
            progress(min(1.0, (i + 1) * batch_size / len(rows)))
    return _join(traces)
