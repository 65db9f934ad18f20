"""DIME's objectives: values of random sets, then Algorithm 1 over the policy's own episodes."""

from __future__ import annotations

import torch
from torch import Tensor

from askwise.core.belief import Belief
from askwise.core.policy import Policy
from askwise.core.rows import Rows
from askwise.core.tasks import Task
from askwise.methods.dime.policy import DimePolicy
from askwise.training.episodes import EpisodeObjective
from askwise.training.objectives import RandomDraws, losses_as_used, random_step


class ValueWarmUp(RandomDraws):
    """Eq. (3) on random sets and random groups, under the pre-trained predictor: every group's value is seen.

    Joint training stops early on small tables, where the predictor soon learns its rows by heart; by then values
    learnt on the policy's own path alone would still be near their start.
    """

    validation_draws = 8

    def __init__(self, policy: Policy, task: Task) -> None:
        self.policy = policy
        self.task = task

    def errors(self, rows: Rows) -> Tensor:
        """Squared error of the value of a random step of each row, in units of the loss."""
        known, choice, asked, known_next = random_step(rows.available)
        mask = self.policy.mask(known, rows.present)
        gain = self._losses(rows, mask) - self._losses(rows, self.policy.mask(known_next, rows.present))
        belief = self.policy(rows.x, mask)
        assert belief.scores is not None
        score = belief.scores.gather(1, choice[:, None])[:, 0]
        return ((score - gain) / self.task.unit) ** 2 * asked

    def _losses(self, rows: Rows, mask: Tensor) -> Tensor:
        assert rows.y is not None
        return losses_as_used(self.policy, self.task, rows.x, mask, rows.y)


class JointObjective(EpisodeObjective):
    """Algorithm 1: episodes by the current policy, then one flat update over all their states.

    Beside its episode each row adds one random set and one random step from it, so that sets which the policy never
    visits stay predictable and valued.
    """

    policy: DimePolicy

    def __init__(
        self,
        policy: DimePolicy,
        task: Task,
        costs: Tensor,
        n_steps: int,
        epsilon: float,
        rows_per_update: int | None = None,
        learn_from: int | None = None,
    ) -> None:
        super().__init__(policy, task, costs, n_steps, rows_per_update)
        self.epsilon = epsilon
        self.learn_from = min(learn_from or n_steps, n_steps)

    def _episodes(self, rows: Rows, progress: Tensor) -> tuple[Tensor, ...]:
        return self._states(rows, self.epsilon * (1 - progress))

    def _states(self, rows: Rows, epsilon: Tensor) -> tuple[Tensor, ...]:
        """Known sets (learnt from + 3, batch, groups), and for each step the group asked, whether one was, and whether
        the set after it is another one.

        Steps lead from each set to the next; the last two sets are the random one and its successor.
        """
        known, choice, asked, new = self._part(*self._walk(rows, epsilon=epsilon))
        scattered, extra, can, with_extra = random_step(rows.available)
        known = torch.cat([known, torch.stack([scattered, with_extra])])
        extra, can = extra[None], can[None]
        return known, torch.cat([choice, extra]), torch.cat([asked, can]), torch.cat([new, can])

    def _part(self, known: Tensor, choice: Tensor, asked: Tensor) -> tuple[Tensor, ...]:
        """Of each row's episode the steps to learn from: all, or some in a row from a random one on.

        They go on with the first after the last, so that all are learnt from equally often; that is no step, and
        counts as none. An episode walked is cheap beside one learnt from: the gradient is that of all steps on average.
        """
        if self.learn_from == self.n_steps:
            return known, choice, asked, asked
        n_states, n_rows = known.shape[:2]
        start = torch.randint(n_states, (n_rows,), device=known.device)
        state = (start + torch.arange(self.learn_from + 1, device=known.device)[:, None]) % n_states
        step, is_step = state[:-1].clamp_max(self.n_steps - 1), state[:-1] < self.n_steps
        known = known.gather(0, state[..., None].expand(-1, -1, known.shape[2]))
        choice, asked = choice.gather(0, step), asked.gather(0, step)
        return known, choice, asked & is_step, asked | ~is_step

    def _loss(self, rows: Rows, weight: Tensor, *states: Tensor) -> Tensor:
        """Of the predictions in all states, and of the values of all steps."""
        known, choice, asked, new = states
        assert rows.y is not None
        n_states, n_rows = known.shape[:2]
        mask = self.policy.mask(known, rows.present).flatten(0, 1)
        x, y = rows.x.repeat(n_states, 1), rows.y.repeat(n_states)
        # From the last state of the episode, and from that after the random step, nothing was asked.
        nothing = torch.zeros_like(choice[:1])
        group = torch.cat([choice[:-1], nothing, choice[-1:], nothing])
        most = [((n_states - 2) * n_rows, self.n_steps), (2 * n_rows, rows.available.shape[1])]
        belief, used = self.policy.learning(x, mask, group.flatten(), n_states, most)

        # A state that no question led to repeats the one before: it counts once.
        first = torch.ones_like(asked[:1])
        led_to = torch.cat([first, new[:-1], first, new[-1:]]).to(weight.dtype) * weight
        predictor = self.task.training_loss(belief.outputs, y) / self.task.unit
        predictor = (predictor.view(n_states, n_rows) * led_to).sum() / led_to.sum().clamp_min(1)

        gain = self._of_steps(self._gains(belief, used, y, n_states))
        scores = self._of_steps(belief.scores.view(n_states, n_rows)[:-1])
        counted = asked.to(weight.dtype) * weight
        value = (((scores - gain) / self.task.unit) ** 2 * counted).sum() / counted.sum().clamp_min(1)
        return predictor + value

    def _gains(self, belief: Belief, used: Tensor, y: Tensor, n_states: int) -> Tensor:
        """How much lower the loss of each state is than that of the one before, (states - 1, batch).

        Of the outputs as used: dropout's noise, which is in the belief to learn from, hides what an answer is worth.
        """
        del belief
        losses = self.task.loss(used, y).view(n_states, -1)
        return losses[:-1] - losses[1:]

    def _of_steps(self, states: Tensor) -> Tensor:
        """All but the place where the episode ends and the random set begins: no question leads over it."""
        return torch.cat([states[: self.learn_from], states[self.learn_from + 1 :]])
