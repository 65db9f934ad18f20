"""DIME's objectives: values of random sets, then Algorithm 1 over the policy's own episodes."""

from __future__ import annotations

import torch
from torch import Tensor

from askwise.core.belief import Belief
from askwise.core.prices import Prices
from askwise.core.ranking import LookAhead
from askwise.core.rows import Rows, repeat_rows
from askwise.core.tasks import Task
from askwise.methods.dime.policy import DimePolicy
from askwise.training.episode import Episode
from askwise.training.episodes import EpisodeObjective
from askwise.training.objectives import RandomDraws, eval_losses
from askwise.training.weights import weighted_mean


class ValueWarmUp(RandomDraws):
    """Eq. (3) on random sets and random groups, under the pre-trained predictor: every group's value is seen.

    Joint training stops early on small tables, where the predictor soon memorises its rows. By then, values that are
    learnt on the policy's own path alone would still be near their start.
    """

    # Nothing is decided by it: the stage ends with its last weights.
    validation_draws = 1

    policy: DimePolicy

    def __init__(self, policy: DimePolicy, task: Task, prices: Prices) -> None:
        self.policy = policy
        self.task = task
        self.prices = prices

    def errors(self, rows: Rows) -> tuple[Tensor, Tensor]:
        """Squared error of the value of a random step of each row, in units of the loss."""
        step = Episode.random_step(rows.available).only_recorded(self.weights.recorded(rows))
        known_next = step.known[1]
        belief, losses, first = self._states(rows, step)
        assert belief.scores is not None
        score = belief.scores.gather(1, step.choice.T)[:, 0]
        error = ((score - step.gains(losses)[0]) / self.task.unit) ** 2
        if belief.ahead is not None:
            assert first is not None
            ahead = belief.ahead.gather(1, step.choice.T)[:, 0]
            first_next = first[len(rows) :]
            returns = self.policy.best_returns(first_next, known_next[None], rows.available, self.prices)[0]
            error = error + ((ahead - returns) / self.task.unit) ** 2
        return error * step.taken[0], known_next

    def _states(self, rows: Rows, step: Episode) -> tuple[Belief, Tensor, Tensor | None]:
        """The belief before the step, the losses as used before and after it, and the first layers' outputs of both."""
        # What a step brings is weighed as the state that it leads to, and so are the answers.
        y = self.weights.targets(rows, step.known[1:])
        if not self.policy.first_layers:
            masks = self.policy.mask(step.known, rows.present)
            each = [eval_losses(self.policy, self.task, rows.x, mask, y) for mask in masks]
            return self.policy(rows.x, masks[0]), torch.stack(each), None
        first = self.policy.first_of_states(rows, step.known)
        losses = self.task.loss(self.policy.outputs_eval(first), repeat_rows(y, 2)).view(2, -1)
        return self.policy.belief_of(first[: len(rows)]), losses, first


class JointObjective(EpisodeObjective[Episode]):
    """Algorithm 1: episodes by the current policy, then one flat update over all their states.

    Each row also adds one random set and one random step from it, so that sets which the policy never visits stay
    predictable and valued.
    """

    policy: DimePolicy

    def __init__(
        self,
        policy: DimePolicy,
        task: Task,
        prices: Prices,
        n_steps: int,
        epsilon: float,
        rows_per_update: int | None = None,
        learn_from: int | None = None,
    ) -> None:
        super().__init__(policy, task, prices, n_steps, rows_per_update)
        self.epsilon = epsilon
        self.learn_from = min(learn_from or n_steps, n_steps)

    def experience(self, rows: Rows, progress: Tensor) -> Episode:
        """A walk of each row, and a random step.

        To walk an episode is cheap beside learning from it: if only some of its steps are learnt from, the gradient is
        that of all steps on average.
        """
        recorded = self.weights.recorded(rows)
        walked = self.walked(rows, epsilon=self.epsilon * (1 - progress)).only_recorded(recorded)
        if self.learn_from < self.n_steps:
            walked = walked.window(self.learn_from)
        return Episode.cat([walked, Episode.random_step(rows.available).only_recorded(recorded)])

    def loss(self, rows: Rows, weight: Tensor, experience: Episode) -> Tensor:
        """The loss of the predictions in all states, and of the values of all steps."""
        episode = experience
        shape = episode.known.shape[:2]
        belief, outputs_eval, first = self.policy.forward_episode(rows, episode)
        losses, counts = self.weights.predictor_losses(
            self.task.training_loss, belief.outputs, rows, episode.known, weight
        )
        predictor_loss = weighted_mean(losses, ~episode.repeated * counts) / self.task.unit

        # Dropout's noise hides what an answer is worth: gains are of the outputs as used.
        y, state_weight = self.weights.targets(rows, episode.known), self.weights(rows, episode.known, weight)
        gain = self.gains(outputs_eval.view(*shape, -1), y.view(*shape, *y.shape[1:]), episode)
        error = (episode.before(belief.scores.view(shape)) - gain) / self.task.unit
        step_weight = episode.taken * episode.after(state_weight.expand(shape))
        loss = predictor_loss + weighted_mean(error**2, step_weight)
        if belief.ahead is None or first is None:
            return loss
        ahead = self.returns_ahead(rows, episode, gain, first.view(*shape, -1))
        error = (episode.before(belief.ahead.view(shape)) - ahead) / self.task.unit
        return loss + weighted_mean(error**2, step_weight)

    def returns_ahead(self, rows: Rows, episode: Episode, gains: Tensor, first: Tensor) -> Tensor:
        """What follows each step, discounted, (steps, batch): what the walk gained, and is worth where it ends.

        gains (steps, batch); first (states, batch, width): outputs of the first layers.
        """
        ranking = self.policy.ranking
        assert isinstance(ranking, LookAhead)
        known = episode.before(episode.known).flatten(0, 1)
        price = self.prices.of_choice(known, episode.choice.flatten()).expand(len(known)).view(episode.choice.shape)
        ends = self.best_returns(rows, episode.ends(episode.known), episode.ends(first))
        return episode.returns_ahead(gains, *ranking.factors(price), ends)

    def best_returns(self, rows: Rows, known: Tensor, first: Tensor) -> Tensor:
        """What the best questions from these states on bring, (states, batch)."""
        return self.policy.best_returns(first.flatten(0, 1), known, rows.available, self.prices)

    def gains(self, outputs: Tensor, y: Tensor, episode: Episode) -> Tensor:
        """What each step is worth, (steps, batch): how much it lowers the loss.

        outputs, y (states, batch, ...): predictions and answers; those of the state that a step leads to count.
        """
        after = episode.after(y)
        before, then = (
            self.task.loss(part.flatten(0, 1), after.flatten(0, 1)).view(after.shape[:2])
            for part in (episode.before(outputs), episode.after(outputs))
        )
        return before - then
