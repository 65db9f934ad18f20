"""Q-learning on episodes of questions: walk, remember, and learn what each question was worth."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from askwise.core.arrays import any_in_row
from askwise.core.belief import Belief
from askwise.core.policy import Policy
from askwise.core.prices import Prices
from askwise.core.rows import Rows
from askwise.core.step import bought, propose
from askwise.core.stopping import Budget
from askwise.core.tasks import Task
from askwise.core.tensors import evaluating
from askwise.core.walk import explore, walk
from askwise.networks.pair_policy import PairPolicy
from askwise.training.episode import Episode
from askwise.training.episodes import EpisodeObjective
from askwise.training.known_sets import random_known
from askwise.training.replay import ReplayMemory, TargetPolicy
from askwise.training.update import without_gradients
from askwise.training.weights import WeightedObjective, share_of_batch

# Share of random questions in the first episodes, in the last ones, and how much of the training it takes to fall.
FIRST_EPSILON, LAST_EPSILON, FALLS_WITHIN = 1.0, 0.1, 0.5


def episodes(
    policy: Policy,
    rows: Rows,
    prices: Prices,
    n_steps: int,
    rule: Budget | None,
    epsilon: Tensor,
    recorded: Tensor | None = None,
) -> Tensor:
    """Walk rows by the policy, at probability epsilon at random among what can be paid; when each group was asked.

    Unlike `walk` with a rule, the host never waits. recorded: as in `core.step.Step`.
    """
    known, spent = torch.zeros_like(rows.available), prices.nothing_spent(len(rows))
    times_known = torch.zeros(known.shape, dtype=torch.int16, device=known.device)
    tracker = policy.track(rows)
    order = torch.rand(known.shape, device=known.device)
    for _ in range(n_steps):
        belief = tracker.belief(known)
        step = propose(belief, known, rows.available, spent, prices, rule, policy.ranking, recorded)
        step = explore(replace(step, open=step.values > -torch.inf), epsilon, order)
        tracker.reveal(step.choice, step.can_ask)
        known, spent = step.known_next, step.spent_next
        times_known += known
    return n_steps - times_known


class States(NamedTuple):
    """All states of some episodes, (steps + 1, batch, ...), and the steps (steps, batch) from each to the next.

    allowed: groups that may be asked next; none in the last state, where the episode ends. asked: whether a step asked
    anything; choice: what. spent, price: before, and of, each question. counts: whether a state differs from the one
    before. random (batch, groups): a random set beside each episode.
    """

    known: Tensor
    allowed: Tensor
    choice: Tensor
    asked: Tensor
    spent: Tensor
    price: Tensor
    counts: Tensor
    random: Tensor

    @staticmethod
    def of(
        rows: Rows,
        asked_at: Tensor,
        prices: Prices,
        n_steps: int,
        rule: Budget | None,
        recorded: Tensor | None = None,
    ) -> States:
        time = torch.arange(n_steps + 1, device=asked_at.device, dtype=asked_at.dtype)[:, None, None]
        known = asked_at < time
        now = asked_at == time[:-1]
        asked = any_in_row(now.flatten(0, 1)).view(n_steps, -1)
        choice = now.view(torch.uint8).argmax(2)
        owned = bought(known, recorded)
        price = prices.of_choice(owned[:-1].flatten(0, 1), choice.flatten()).expand(choice.numel()).view(choice.shape)
        paid = price * (asked if recorded is None else asked & recorded.gather(1, choice.T).T)
        spent = torch.cat([torch.zeros_like(paid[:1]), paid.cumsum(0)])
        allowed = rows.available & ~known & (time < n_steps)
        if rule is not None:
            allowed = allowed & rule.allows(spent.flatten(), prices.of(owned.flatten(0, 1))).view(*spent.shape, -1)
        counts = torch.cat([torch.ones_like(asked[:1]), asked])
        return States(known, allowed, choice, asked, spent, price, counts, random_known(rows.available))

    @property
    def can_ask(self) -> Tensor:
        """Whether the episode goes on from a state, (steps + 1, batch)."""
        return any_in_row(self.allowed.flatten(0, 1)).view(self.counts.shape)


def greedy(states: States, scores: Tensor) -> Tensor:
    """The best of the allowed groups in every state, (steps + 1, batch), by scores (steps + 1, batch, groups)."""
    return scores.masked_fill(~states.allowed, -torch.inf).argmax(2)


def targets(rewards: Tensor, goes_on: Tensor, best: Tensor, followed: Tensor | None = None) -> Tensor:
    """What each step is worth: its reward, and so much (steps, batch) of what the next state is worth.

    best (steps + 1, batch): what a state is worth by the slow copy. followed (steps, batch): steps that did what the
    policy would do now; their own targets are used for it, which is Retrace with a greedy target policy. Without it,
    one-step targets.
    """
    found: list[Tensor] = []
    worth = best[-1]
    for t in reversed(range(len(rewards))):
        found.append(rewards[t] + goes_on[t] * worth)
        worth = best[t] if followed is None else torch.where(followed[t], found[-1], best[t])
    return torch.stack(found[::-1])


class QLearning(WeightedObjective, nn.Module):
    """Each batch of rows is walked and remembered; then updates learn from episodes drawn from the memory.

    Prices are in float64, so that sums of prices meet a budget. rule: what limits an episode, if anything does.
    batches_remembered: newer episodes tell more of where the policy goes now, older ones of what else there is.
    """

    batches_remembered: ClassVar[int]

    def __init__(
        self,
        policy: PairPolicy,
        task: Task,
        prices: Prices,
        n_steps: int,
        rule: Budget | None,
        walked: int,
        rows_per_update: int,
    ) -> None:
        super().__init__()
        # In a tuple: as a submodule it would be saved twice.
        self._policy = (policy,)
        self.task = task
        self.prices = prices
        self.n_steps = n_steps
        self.rule = rule
        self.rows_per_update = min(walked, rows_per_update)
        self.memory = ReplayMemory(policy.space, self.batches_remembered * walked, prices.costs.device)
        self.target = TargetPolicy(policy)

    @property
    def policy(self) -> PairPolicy:
        return self._policy[0]

    @property
    def horizon(self) -> Tensor:
        """All that an episode of no fixed budget spends: as many questions of mean price as it has states."""
        return self.prices.mean() * (self.n_steps + 1)

    def losses(self, rows: Rows, weight: Tensor, progress: Tensor) -> Iterator[Tensor]:
        epsilon = FIRST_EPSILON + (LAST_EPSILON - FIRST_EPSILON) * (progress / FALLS_WITHIN).clamp_max(1)
        with without_gradients(), evaluating(self.policy):
            recorded = self.weights.recorded(rows)
            asked_at = episodes(self.policy, rows, self.prices, self.n_steps, self.rule, epsilon, recorded)
            self.memory.push(rows, weight, asked_at)
        for _ in range(max(1, len(rows) // self.rows_per_update)):
            yield self._loss(*self.memory.sample(self.rows_per_update))
            self.target.follow(self.policy)

    def _loss(self, rows: Rows, weight: Tensor, asked_at: Tensor) -> Tensor:
        """Of the states of these episodes, and of one random set a row: what is never visited stays predictable."""
        states = States.of(rows, asked_at, self.prices, self.n_steps, self.rule, self.weights.recorded(rows))
        known = torch.cat([states.known, states.random[None]])
        mask = self.policy.mask(known, rows.present).flatten(0, 1)
        x, networks = rows.x.repeat(len(known), 1), self.policy.networks
        # Dropout comes after the first layers, which most of the work is in: they are run once for both.
        first = networks.first(self.policy.hide(x, mask), mask)
        online = Belief(*networks.onward(first))
        with without_gradients(), evaluating(self.policy):
            online_eval = Belief(*networks.onward(first.detach()))
            target = self.target(x, mask)
        each = (
            Belief(*(p.float().unflatten(0, known.shape[:2]) for p in (belief.outputs, belief.scores)))
            for belief in (online, online_eval, target)
        )
        return self.loss(rows, weight, states, *each) * share_of_batch(weight)

    def loss(
        self, rows: Rows, weight: Tensor, states: States, online: Belief, online_eval: Belief, target: Belief
    ) -> Tensor:
        """The loss of outputs and raw scores (steps + 2, batch, ...) of all states, and then of the random set.

        online: to learn from; online_eval: without dropout and gradient; target: of the slow copy.
        """
        raise NotImplementedError

    def state_and_step_weights(self, rows: Rows, weight: Tensor, states: States) -> tuple[Tensor, Tensor]:
        """Weights of all states and of the random set (steps + 2, batch), and of the steps (steps, batch).

        A state that repeats the one before counts once; a step counts as much as the state it leads to.
        """
        of_state = self.weights(rows, states.known, weight).expand(states.counts.shape)
        of_random = self.weights(rows, states.random, weight)
        counts, asked, recorded = states.counts, states.asked, self.weights.recorded(rows)
        if recorded is not None:
            asked = asked & recorded.gather(1, states.choice.T).T
            counts = torch.cat([counts[:1], asked])
        return torch.cat([counts * of_state, of_random[None]]), asked * of_state[1:]

    def validate(self, rows: Rows) -> Tensor:
        """Mean loss where the budget ends the greedy path; without one, over all that is spent along it."""
        if self.rule is None:
            objective = EpisodeObjective[Episode](self.policy, self.task, self.prices, self.n_steps)
            objective.weights = self.weights
            return objective.validate(rows)
        total, weights = (torch.zeros((), device=rows.x.device) for _ in range(2))
        for batch in rows.batches(self.policy.space.rows_at_once(rows.x.device)):
            assert batch.y is not None
            *_, last = walk(self.policy, batch, self.prices, self.n_steps + 1, self.rule)
            weight = self.weights(batch, last.known, batch.row_weight)
            total += (self.task.loss(last.belief.outputs, batch.y) * weight).sum()
            weights += weight.sum()
        return total / (weights * self.task.unit)
