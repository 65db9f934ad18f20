"""DIME's policy: a predictor, and a value network with one score a group."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from askwise.core.belief import Belief
from askwise.core.prices import Prices
from askwise.core.ranking import LookAhead
from askwise.core.rows import Rows
from askwise.core.tensors import evaluating
from askwise.networks.pair_policy import PairPolicy
from askwise.training.episode import Episode
from askwise.training.update import without_gradients


class DimePolicy(PairPolicy):
    """Predictor f(x_S) and value network v(x_S), one score a group in the units of the loss."""

    def forward_episode(self, rows: Rows, episode: Episode) -> tuple[Belief, Tensor]:
        """The belief of every state of an episode, and its outputs as they will be used.

        Outputs are (states x batch, n_outputs). Scores are returned for one group per state, the one that is asked
        from it, shape (states x batch, 1). The outputs as used are computed without dropout and without gradients.
        """
        if self.first_layers:
            # Dropout comes after the first layers, which do most of the work: they run once for both.
            first = self.first_of_states(rows, episode.known)
            outputs, raw = self.networks.onward(first)
            with without_gradients(), evaluating(self):
                outputs_eval, _ = self.networks.onward(first.detach(), scores=False)
        else:
            mask = self.mask(episode.known, rows.present).flatten(0, 1)
            x = self.hide(rows.x.repeat(episode.n_states, 1), mask)
            outputs, raw = self._forward_states(x, mask, True, episode)
            outputs_eval = outputs.detach()
            if self.capabilities.noisy_training:
                with without_gradients(), evaluating(self):
                    outputs_eval, _ = self._forward_states(x, mask, False, episode)
        assert raw is not None
        choice = episode.choice_of_states().flatten()[:, None]
        if self.discount:
            choice = torch.cat([choice, choice + self.space.n_groups], 1)
        with without_gradients():
            used = self._belief(outputs_eval, None).outputs
        return self._belief(outputs, raw.gather(1, choice)), used

    def drop_unused_scores(self) -> None:
        """Drop the estimates of what lies ahead, if groups are ranked by one question after all."""
        if self.lookahead is not None and self.discount == 0:
            self.lookahead = None
            self.networks.keep_scores(self.space.n_groups)

    @contextmanager
    def looking_at_one_question(self) -> Iterator[None]:
        """Inside the block, groups are ranked by one question only."""
        discount, self.discount = self.discount, 0.0
        try:
            yield
        finally:
            self.discount = discount

    def best_returns(self, rows: Rows, known: Tensor, prices: Prices) -> Tensor:
        """What the best questions from some states on bring, (states, batch), as used and without gradients."""
        with without_gradients(), evaluating(self):
            outputs, raw = self.networks.onward(self.first_of_states(rows, known))
            belief = self._belief(outputs, raw)
            ranking = self.ranking
            assert isinstance(ranking, LookAhead)
            returns = ranking.returns(belief.scores, belief.ahead, prices.of(known.flatten(0, 1)))
            open_ = (rows.available & ~known).flatten(0, 1)
            return returns.masked_fill(~open_, 0.0).amax(1).view(known.shape[:2])

    def _forward_states(self, x: Tensor, mask: Tensor, scores: bool, episode: Episode) -> tuple[Tensor, Tensor | None]:
        """Outputs and raw scores of all states; the prior network runs once for each row."""
        n_rows = episode.n_rows
        prior = self.networks.prior_output(x[:n_rows], mask[:n_rows])
        prior = None if prior is None else prior.repeat(episode.n_states, 1)
        return self.networks.forward_counted(x, mask, scores, episode.known_counts, prior)
