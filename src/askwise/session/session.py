"""The live conversation: ask, tell, decline, undo; its whole state is the answers."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from askwise.core.belief import Belief
from askwise.core.errors import AskwiseError, listed, unknown_name
from askwise.core.prices import Prices
from askwise.core.step import Step, StoppingRule, propose, reasons
from askwise.core.stopping import takes_arrays
from askwise.data.tables.column import Column
from askwise.data.tables.remarks import remark_on
from askwise.model.prior import Prior
from askwise.model.session_model import Costs, SessionModel
from askwise.session.fetching import Fetched, check_acquire, fetch, fetch_async, in_one_line, seconds
from askwise.session.messages import Candidate, Event, Prediction, Question, check_given_once, event_of
from askwise.session.row import Row


class HasModel(Protocol):
    """A fitted estimator, with the rule it runs where none is given."""

    @property
    def model_(self) -> SessionModel: ...

    @property
    def stop(self) -> StoppingRule | None: ...


class Moment:
    """A step of a session and, once it is asked for, the reason to stop there."""

    def __init__(self, step: Step, rule: StoppingRule | None) -> None:
        self.step = step
        self.rule = rule

    @cached_property
    def reason(self) -> str | None:
        index, names = reasons(self.rule, self.step)
        return None if int(index[0]) < 0 else names[int(index[0])]


class Session:
    """Asks the next best question of one case until a rule says stop.

    `known` gives the values of free columns. Telling any open group is allowed, asked or not, stopped or not. `rule` is
    the rule that is run: what an average cost stands for. `prior` maps labels to their prevalence, if it is another
    than in training: it moves predictions, and rules that look at them; questions and values stay.
    """

    def __init__(
        self,
        model: SessionModel | HasModel,
        stop: StoppingRule | None = None,
        costs: Costs = None,
        known: Mapping[str, Any] | None = None,
        prior: Prior = None,
    ) -> None:
        self.model = model if isinstance(model, SessionModel) else model.model_
        if stop is None and not isinstance(model, SessionModel):
            stop = model.stop
        self._costs = self.model.costs(costs)
        self.rule = self.model.rule(stop, self._costs, prior)
        self._shift = self.model.prior_shift(prior)
        self._in_tensors = not takes_arrays(self.rule)
        self._prices = Prices.array(self._costs)
        self._rule_prices = self._prices_for_rule()
        self._beliefs = self.model.one_row()
        self._events: list[Event] = []
        self._given = {name: self._free(name).parse(value) for name, value in (known or {}).items()}
        self._said: dict[str, Any] = {}
        self._groups: dict[str, bool] = {}
        self._paid: list[float] = []
        self._row = Row(self.model.schema)
        self._now: Moment | None = None
        self._replay()

    @classmethod
    def from_answers(
        cls,
        model: SessionModel | HasModel,
        answers: Mapping[str, Any],
        declined: Iterable[str] = (),
        stop: StoppingRule | None = None,
        costs: Costs = None,
        prior: Prior = None,
    ) -> Session:
        """The session in which all this was said, in any order; answers are keyed by column or group."""
        session = cls(model, stop, costs, prior=prior)
        # In an order of their own, so that what is wrong is told alike in whichever order it was given.
        heard = {name: session._parse_event(name, answers[name]) for name in sorted(answers, key=str)}
        check_given_once(heard)
        for name in answers:
            session.hear(heard[name])
        for name in declined:
            session.decline(name)
        return session

    def ask(self) -> Question | None:
        """The best question now, or None when it is time to stop (`reason` says why)."""
        if self.reason is not None:
            return None
        step = self._moment.step
        group = int(step.choice[0])
        name = self.model.schema.space.names[group]
        value, per_cost = float(step.belief.scores[0, group]), float(step.values[0, group])
        rank = None if step.belief.ahead is None else float(step.ranks[0, group])
        cost, own = (_of_group(costs, group) for costs in (step.costs, step.prices.own(step.known)))
        return Question(name, self.model.schema.columns_of(name), cost, value, per_cost, rank, own)

    def tell(self, name: str, value: Any) -> None:
        """Answer a group, a column of one, or a free column; None means that it can't be had.

        A group of several columns takes a mapping of column to value.
        """
        self.hear(self._parse_event(name, value))

    def decline(self, name: str, why: str | None = None) -> None:
        """A group that can't be had: it is not asked again and costs nothing. `failures` keeps why, where given."""
        group = self.model.schema.group_of(name)
        if group is None:
            raise AskwiseError(f"{name!r} is free: it is never asked, so it can't be declined; leave it out")
        self.hear(Event(name, group, {}, declined=True, why=why))

    def hear(self, event: Event) -> None:
        """Take in an event as another session's `history` has it: told to this model, it means the same."""
        self._check_open(event)
        self._events.append(event)
        self._take_in(event)

    def undo(self) -> str:
        """Take the last answer or refusal back; returns what it was about."""
        if not self._events:
            raise AskwiseError("there is nothing to undo: nothing has been told or declined yet")
        event = self._events.pop()
        self._replay()
        return event.group or event.name

    def run(self, acquire: Callable[[Question], Any], timeout: float | None = None) -> Prediction:
        """Ask until it is time to stop, with the values that `acquire(question)` returns; gives the prediction.

        A panel's value is a mapping of column to value; None is not available. Where `acquire` raises an exception,
        takes more than `timeout` seconds or returns an impossible value, the group is declined, and `failures` says
        why. With a timeout, `acquire` is called in a thread; a call that takes longer is left behind, and its answer
        ignored.
        """
        limit = seconds(timeout)
        check_acquire(acquire, awaits=False)
        while (question := self.ask()) is not None:
            self._receive(question.name, fetch(acquire, question, limit))
        return self.prediction

    async def run_async(
        self, acquire: Callable[[Question], Awaitable[Any]], timeout: float | None = None
    ) -> Prediction:
        """As `run`, where `acquire` is an async function; it is cancelled after `timeout` seconds."""
        limit = seconds(timeout)
        check_acquire(acquire, awaits=True)
        while (question := self.ask()) is not None:
            self._receive(question.name, await fetch_async(acquire, question, limit))
        return self.prediction

    @property
    def failures(self) -> dict[str, str]:
        """Why groups were declined, in a line each, where something went wrong: an error, too late, impossible."""
        return {e.group: e.why for e in self._events if e.group is not None and e.why is not None}

    @property
    def answers(self) -> dict[str, Any]:
        """Everything known, by column; `Session.from_answers` takes it back."""
        return {name: value for name, value in self._said.items() if value is not None}

    @property
    def remarks(self) -> dict[str, str]:
        """What is odd about answers, by column: those outside what was seen in training."""
        columns = (column for column in self.model.schema.columns if self._said.get(column.name) is not None)
        return {column.name: text for column in columns if (text := remark_on(column, self._said[column.name]))}

    @property
    def declined(self) -> list[str]:
        """Groups that can't be had: refused, or with no column that can be had."""
        return [group for group, known in self._groups.items() if not known]

    @property
    def asked(self) -> list[str]:
        """Groups answered so far, in the order they were told."""
        return [group for group, known in self._groups.items() if known]

    @property
    def history(self) -> tuple[Event, ...]:
        """All that was told and declined and not undone, in the order it was said."""
        return tuple(self._events)

    @property
    def entropy(self) -> float | None:
        """How unsure the prediction is, H(y | x_S) in nats; None where it is a number."""
        return float(self._moment.step.entropy[0]) if self.model.task.kind == "classification" else None

    @property
    def prediction(self) -> Prediction:
        answer = self.model.task.decode(self._moment.step.belief.outputs)[0]
        if self.model.task.kind == "regression":
            return Prediction(float(answer), None)
        labels = self.model.task.labels  # type: ignore[attr-defined]
        return Prediction(labels[int(answer.argmax())], dict(zip(labels, answer.tolist(), strict=True)))

    @property
    def ranking(self) -> list[Candidate]:
        """Every open group, the best first; `ranked_by` says by which number."""
        step, ranking = self._moment.step, self.model.ranking
        names = self.model.schema.space.names
        scores, open_ = step.belief.scores[0].tolist(), step.open[0].tolist()
        values = ranking.values(step.belief, step.costs)[0].tolist()
        looks_ahead = step.belief.ahead is not None
        ranks = ranking.ranks(step.belief, step.costs)[0].tolist() if looks_ahead else [None] * len(names)
        costs, own = step.costs, step.prices.own(step.known)
        found = [
            Candidate(names[g], scores[g], _of_group(costs, g), values[g], ranks[g], _of_group(own, g))
            for g in range(len(names))
            if open_[g]
        ]
        return sorted(found, key=lambda c: (-c.rank, c.cost))

    @property
    def ranked_by(self) -> str:
        """By what `ranking` is ordered: "information" per cost, "lookahead" per cost, or a "score"."""
        return self.model.ranking.by

    @property
    def spent(self) -> float:
        # Rounded once, so that the order of the answers does not matter.
        return math.fsum(self._paid)

    @property
    def reason(self) -> str | None:
        """Why it is time to stop; None while there is something to ask."""
        return self._moment.reason

    @property
    def _moment(self) -> Moment:
        if self._now is None:
            self._now = Moment(self._propose(), self.rule)
        return self._now

    def _propose(self) -> Step:
        row = self._row
        # What was told is what is known: a column is present only if it is free or its group is known.
        belief = self._beliefs.belief(row.x, row.present)
        belief = belief if self._shift is None else self._shift.belief(belief)
        # Copies: a step stays as it is when the row changes.
        state: list[Any] = [row.known.copy(), row.available.copy(), np.array([self.spent])]
        recorded = None if row.recorded is None else row.recorded.copy()
        if self._in_tensors:
            state, belief = [self._tensor(part) for part in state], Belief(*map(self._tensor, belief))
            recorded = self._tensor(recorded)
        known, available, spent = state
        prices, ranking = self._rule_prices, self.model.ranking
        return propose(belief, known, available, spent, prices, self.rule, ranking, recorded)

    def _tensor(self, part: Any) -> Any:
        """An array as a tensor, for rules of a user's own; None stays None."""
        import torch

        return None if part is None else torch.from_numpy(np.array(part)).to(self.model.device)

    def _prices_for_rule(self) -> Prices:
        """Costs as the rule takes them: numpy arrays, or tensors for rules of a user's own."""
        if self._in_tensors:
            return Prices.tensor(self._costs, device=self.model.device)
        return self._prices

    def _free(self, name: str) -> Column:
        schema = self.model.schema
        if name in schema.free:
            return schema.column(name)
        if name in schema.space.position or name in schema.column_position:
            raise AskwiseError(f"{name!r} is not free: give its value with tell(), which counts its cost")
        raise unknown_name("free column in known:", name, schema.free)

    def _parse_event(self, name: str, value: Any) -> Event:
        """What a telling means: which group, and which columns have which values."""
        try:
            return event_of(self.model.schema, name, value)
        except AskwiseError as error:
            error.about = name
            raise

    def _receive(self, name: str, fetched: Fetched) -> None:
        """Take in what was fetched for a group, or decline it: either way, it is not asked again."""
        if fetched.failure is not None:
            self.decline(name, fetched.failure)
            return
        try:
            self.tell(name, fetched.value)
        # Not only our own errors: a value may be an object that fails when it is turned into a number.
        except Exception as error:
            self.decline(name, in_one_line(error))

    def _check_open(self, event: Event) -> None:
        if event.group is not None and self._groups.get(event.group) is False:
            raise AskwiseError(f"{event.name!r} is not open: it was declined; undo() that first", event.name)
        twice = any(self._said.get(column) is not None for column in event.answers)
        # A panel told column by column is one purchase: further columns of it may follow.
        by_column = len(event.answers) == 1
        says_nothing = by_column and all(v is None and c in self._said for c, v in event.answers.items())
        if twice or says_nothing or (event.group in self._groups and not by_column):
            still = [n for n in self.model.schema.space.names if n not in self._groups]
            known = f"{event.name!r} is not open: it is known already; open: {listed(still) or 'nothing'}"
            raise AskwiseError(known, event.name)

    def _replay(self) -> None:
        """Derive the state from what was given and said."""
        self._said = dict(self._given)
        self._groups = {}
        self._paid = []
        self._row = Row(self.model.schema)
        self._row.put(self._given)
        self._now = None
        for event in self._events:
            self._take_in(event)

    def _take_in(self, event: Event) -> None:
        """Keep what is said by column, and by group whether it is known (True) or can't be had (False)."""
        self._now = None
        self._said.update(event.answers)
        self._row.put(event.answers)
        group = event.group
        if group is None or group in self._groups:
            return
        columns = self.model.schema.columns_of(group)
        if any(self._said.get(c.name) is not None for c in columns):
            self._settle(group, known=True)
        elif event.declined or all(c.name in self._said for c in columns):
            self._settle(group, known=False)

    def _settle(self, group: str, known: bool) -> None:
        self._groups[group] = known
        if known:
            self._paid += self._prices.payments(self._row.bought, self.model.schema.space.position[group])
        self._row.settle(group, known)


def _of_group(costs: Any, group: int) -> float:
    """The cost of one group, from the costs (groups,) or (1, groups) of a session's row."""
    return float(costs[group] if costs.ndim == 1 else costs[0, group])
