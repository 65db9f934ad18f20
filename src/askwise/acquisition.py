"""The greedy step and the walk along it: the only place where a question is chosen."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from askwise.arrays import (
    among,
    any_in_row,
    at_least_zero,
    both,
    full_precision,
    keep_memory,
    largest,
    like,
    namespace,
    uniform,
)
from askwise.errors import AskwiseError
from askwise.features import Rows
from askwise.policy import Belief, Policy
from askwise.tasks import entropy

NOTHING_LEFT = "nothing-left"
# Rows that have stopped leave a batch once they are more than a fifth of it: copying the others takes time too.
MOST_STANDING = 0.8
# Values nearer to each other than this share of them may change places by the rounding of float32, and values nearer
# to a threshold than that may change sides.
NEAR, NEAR_THRESHOLD = 1e-5, 5e-5


@dataclass(frozen=True)
class Step:
    """One moment of a batch of cases, before the next question is asked.

    known, open (batch, groups): answered; askable, that is neither known nor unavailable. spent (batch,).
    values (batch, groups): score per cost, -inf where it can't be asked or paid. best, choice (batch,): the largest
    value and its group; `can_ask` is False where nothing can be chosen. In a batch they are tensors; a session's step,
    of one case, holds numpy arrays, but for rules of a user's own.
    """

    belief: Belief
    known: Any
    open: Any
    spent: Any
    costs: Any
    values: Any
    best: Any
    choice: Any

    # Many rules look at one step: what they share is computed once.
    @cached_property
    def can_ask(self) -> Any:
        return self.best > -math.inf

    @cached_property
    def cheapest(self) -> Any:
        """The lowest cost of an open group, (batch,); infinite where none is open."""
        xp = namespace(self.open)
        if uniform(self.costs):
            return xp.where(any_in_row(self.open), self.costs[0], math.inf)
        return xp.amin(xp.where(self.open, self.costs, math.inf), 1)

    @property
    def any_open(self) -> Any:
        return self.cheapest < math.inf

    @cached_property
    def entropy(self) -> Any:
        """H(y | x_S) of the prediction in nats, (batch,); classes only."""
        return entropy(self.belief.outputs)

    @property
    def n_asked(self) -> Any:
        return self.known.sum(1)

    @property
    def known_next(self) -> Tensor:
        """What is known once the choice is answered; unchanged where nothing can be asked."""
        choice = self.choice[:, None]
        return self.known.scatter(1, choice, self.known.gather(1, choice) | self.can_ask[:, None])

    @property
    def spent_next(self) -> Tensor:
        cost = self.costs[0] if uniform(self.costs) else self.costs[self.choice]
        return self.spent + cost * self.can_ask


class StoppingRule(Protocol):
    """What a rule must have: it judges each case by itself, since those that have stopped leave the batch.

    `allows(spent, costs)` is optional: which groups it lets one pay, (batch, groups), or (batch, 1) for all of them.
    """

    def stops(self, step: Step) -> Tensor:
        """Which cases stop here, (batch,)."""
        ...


def price(policy: Policy, scores: Any, costs: Any) -> Any:
    """Score per cost, never below 0, where scores are information; else the scores themselves."""
    return at_least_zero(scores) / like(costs, scores) if policy.is_information else scores


def propose(
    policy: Policy,
    belief: Belief,
    known: Any,
    available: Any,
    spent: Any,
    costs: Any,
    rule: StoppingRule | None = None,
) -> Step:
    """The step at `known`: the best group per cost among those that are open, available and affordable.

    Exact ties go to the cheaper group, then to the first.
    """
    open_, candidates = askable(known, available, spent, costs, rule)
    return _chosen(policy, belief, known, open_, candidates, spent, costs)


def askable(known: Any, available: Any, spent: Any, costs: Any, rule: StoppingRule | None) -> tuple[Any, Any]:
    """The open groups, and those of them that the rule allows to be paid, (batch, groups) each."""
    open_ = available & ~known
    allows = getattr(rule, "allows", None)
    return open_, open_ if allows is None else both(open_, allows(spent, costs))


def _chosen(policy: Policy, belief: Belief, known: Any, open_: Any, candidates: Any, spent: Any, costs: Any) -> Step:
    xp = namespace(known)
    values = among(price(policy, belief.scores, costs), candidates)
    best, choice = largest(values)
    if not uniform(costs):
        choice = xp.where(values == best[:, None], like(costs, values), math.inf).argmin(1)
    return Step(belief, known, open_, spent, costs, values, best, choice)


def random_open(open_: Tensor, order: Tensor | None = None) -> Tensor:
    """A random one of each row's open groups, (batch,), from (batch, groups); any where none is open.

    order: random numbers (batch, groups) to draw by. The same ones may serve a whole walk: the first open group of a
    random order is a random one of those still open, however the others were chosen.
    """
    order = torch.rand(open_.shape, device=open_.device) if order is None else order
    return order.masked_fill(~open_, -1).argmax(1)


def explore(step: Step, epsilon: Tensor, order: Tensor) -> Step:
    """The same step with, at probability epsilon, a random open group for its choice."""
    other = random_open(step.open, order)
    random = torch.rand(len(other), device=other.device) < epsilon
    return replace(step, choice=torch.where(random, other, step.choice))


def walk(
    policy: Policy,
    rows: Rows,
    costs: Tensor,
    n_steps: int,
    rule: StoppingRule | None = None,
    epsilon: Tensor | None = None,
    change: Callable[[Step], Step] | None = None,
) -> Iterator[Step]:
    """The first `n_steps` steps of each row, asking the best group each time. Without a rule, the host never waits.

    change: gives the same step with another choice.
    """
    path = Walk(policy, rows, costs, rule)
    order = None if epsilon is None else torch.rand(rows.available.shape, device=rows.x.device)
    for _ in range(n_steps):
        step = path.step()
        if epsilon is not None and order is not None:
            step = explore(step, epsilon, order)
        if change is not None:
            step = change(step)
        yield step
        path.go_on(step)


class Walk:
    """Rows on their way from question to question."""

    def __init__(
        self,
        policy: Policy,
        rows: Rows,
        costs: Tensor,
        rule: StoppingRule | None = None,
        exact: Policy | None = None,
        judges: Sequence[StoppingRule | None] = (),
    ) -> None:
        self.policy = policy
        self.rows = rows
        self.costs = costs
        self.rule = rule
        self.exact = exact
        self.judges = [part for judge in judges for part in parts_of(judge) if hasattr(part, "near")]
        self.known = torch.zeros_like(rows.available)
        # Money in the precision of the costs: a sum of prices must meet a budget exactly.
        self.spent = costs.new_zeros(len(rows))
        self.tracker = policy.track(rows)

    def step(self) -> Step:
        """Where the rows stand now."""
        open_, candidates = askable(self.known, self.rows.available, self.spent, self.costs, self.rule)
        scores = self._anything_allowed(candidates)
        belief = self.tracker.belief(self.known, scores)
        if not scores:
            belief = Belief(belief.outputs, belief.outputs.new_zeros(()).expand(self.known.shape))
        step = _chosen(self.policy, belief, self.known, open_, candidates, self.spent, self.costs)
        return step if self.exact is None else self._settled(self.exact, step)

    def _anything_allowed(self, candidates: Tensor) -> bool:
        """Whether any row may ask anything: where a budget is spent, scores would be computed for nothing."""
        return not hasattr(self.rule, "allows") or bool(any_in_row(candidates).any())

    def _settled(self, exact: Policy, step: Step) -> Step:
        """The same step, thought anew by the exact policy where values are nearly equal, or nearly at a threshold."""
        second = step.values.scatter(1, step.choice[:, None], -math.inf).amax(1)
        rounding = self.policy.rounding
        near = step.best - second <= rounding * NEAR * step.best.abs()
        for judge in self.judges:
            near = near | judge.near(step, rounding * NEAR_THRESHOLD)
        outputs, best, choice = step.belief.outputs.double(), step.best.double(), step.choice
        index = near.nonzero()[:, 0]
        if len(index):
            rows, known = self.rows.take(index), self.known[index]
            belief = exact(rows.x.double(), exact.mask(known, rows.present))
            again = propose(exact, belief, known, rows.available, self.spent[index], self.costs, self.rule)
            outputs = outputs.index_copy(0, index, belief.outputs)
            best, choice = best.index_copy(0, index, again.best), choice.index_copy(0, index, again.choice)
        return replace(step, belief=Belief(outputs, step.belief.scores), best=best, choice=choice)

    def go_on(self, step: Step) -> None:
        """Ask what the step chose."""
        self.tracker.reveal(step.choice, step.can_ask)
        self.known, self.spent = step.known_next, step.spent_next

    def keep(self, index: Tensor) -> None:
        """Leave all rows but these behind."""
        self.tracker.keep(index)
        self.rows, self.known, self.spent = self.rows.take(index), self.known[index], self.spent[index]


def parts_of(rule: StoppingRule | None) -> tuple[StoppingRule, ...]:
    """The rules that one is made of: its parts, itself, or none."""
    return tuple(getattr(rule, "parts", () if rule is None else (rule,)))


def rule_name(rule: object) -> str:
    """The reason a rule gives for stopping: its `name`, else its class's."""
    return str(getattr(rule, "name", type(rule).__name__))


def _judgement(rule: StoppingRule, step: Step) -> Any:
    """What a rule says, or a clear error where it can't be meant."""
    stops = rule.stops(step)
    whole = isinstance(stops, (bool, np.bool_))
    if whole or (str(getattr(stops, "dtype", "")).endswith("bool") and tuple(stops.shape) in ((), step.best.shape)):
        return stops
    what = f"{type(stops).__name__}{' of ' + str(stops.dtype) if hasattr(stops, 'dtype') else ''}"
    shape = f" and shape {tuple(stops.shape)}" if hasattr(stops, "shape") else ""
    raise AskwiseError(
        f"{rule_name(rule)}.stops(step) must give one bool for each row, of shape ({len(step.best)},); "
        f"it gave a {what}{shape}"
    )


def reasons(rule: StoppingRule | None, step: Step) -> tuple[Any, list[str]]:
    """Why each case stops here, as an index into the returned names; -1 where it goes on."""
    xp = namespace(step.known)
    names = [NOTHING_LEFT]
    reason = xp.where(step.any_open, -1, 0)
    parts = parts_of(rule)
    for part in parts:
        names.append(rule_name(part))
        reason = xp.where((reason < 0) & _judgement(part, step), len(names) - 1, reason)
    # A rule that allows nothing more has stopped the case, whether it says so or not.
    limiting = next((part for part in parts if hasattr(part, "allows")), None)
    names.append(NOTHING_LEFT if limiting is None else rule_name(limiting))
    return xp.where((reason < 0) & ~step.can_ask, len(names) - 1, reason), names


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
