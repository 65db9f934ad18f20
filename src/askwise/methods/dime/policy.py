"""DIME's policy: a predictor, and a value network with one score a group."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

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


class EpisodeBelief(NamedTuple):
    """What a policy believes in every state of an episode.

    belief: outputs (states x batch, n_outputs), and scores for one group per state, the one that is asked from it,
    (states x batch, 1). outputs_eval: outputs as they will be used, without dropout and without gradients. first: the
    outputs of the first layers, if the policy is incremental.
    """

    belief: Belief
    outputs_eval: Tensor
    first: Tensor | None


class DimePolicy(PairPolicy):
    """Predictor f(x_S) and value network v(x_S), one score a group in the units of the loss."""

    def forward_episode(self, rows: Rows, episode: Episode) -> EpisodeBelief:
        """What the policy believes in every state of an episode."""
        first: Tensor | None = None
        if self.first_layers:
            # Dropout comes after the first layers, which do most of the work: they run once for both.
            first = self.first_of_states(rows, episode.known)
            outputs, raw = self.networks.onward(first)
            outputs_eval = self.outputs_eval(first)
        else:
            mask = self.mask(episode.known, rows.present).flatten(0, 1)
            x = self.hide(rows.x.repeat(episode.n_states, 1), mask)
            outputs, raw = self._forward_states(x, mask, True, episode)
            outputs_eval = outputs.detach()
            if self.capabilities.noisy_training:
                with without_gradients(), evaluating(self):
                    outputs_eval, _ = self._forward_states(x, mask, False, episode)
            with without_gradients():
                outputs_eval = self._belief(outputs_eval, None).outputs
        assert raw is not None
        choice = episode.choice_of_states().flatten()[:, None]
        if self.discount:
            choice = torch.cat([choice, choice + self.space.n_groups], 1)
        return EpisodeBelief(self._belief(outputs, raw.gather(1, choice)), outputs_eval, first)

    def outputs_eval(self, first: Tensor) -> Tensor:
        """Outputs as they will be used, without dropout and without gradients, from the first layers' outputs."""
        with without_gradients(), evaluating(self):
            return self._belief(*self.networks.onward(first.detach(), scores=False)).outputs

    def drop_lookahead(self) -> None:
        """Rank groups by one question after all, and drop the estimates of what lies ahead."""
        self.lookahead, self.discount = None, 0.0
        self.networks.keep_scores(self.space.n_groups)

    @contextmanager
    def looking_at_one_question(self) -> Iterator[None]:
        """Inside the block, groups are ranked by one question only."""
        discount, self.discount = self.discount, 0.0
        try:
            yield
        finally:
            self.discount = discount

    def best_returns(self, first: Tensor, known: Tensor, available: Tensor, prices: Prices) -> Tensor:
        """What the best questions from some states on bring, (states, batch), as used and without gradients.

        first: what `first_of_states` gives for these states. known: (states, batch, groups).
        """
        with without_gradients(), evaluating(self):
            belief = self._belief(*self.networks.onward(first.detach()))
            ranking = self.ranking
            assert isinstance(ranking, LookAhead)
            returns = ranking.returns(belief.scores, belief.ahead, prices.of(known.flatten(0, 1)))
            open_ = (available & ~known).flatten(0, 1)
            return returns.masked_fill(~open_, 0.0).amax(1).view(known.shape[:2])

    def _forward_states(self, x: Tensor, mask: Tensor, scores: bool, episode: Episode) -> tuple[Tensor, Tensor | None]:
        """Outputs and raw scores of all states; the prior network runs once for each row."""
        n_rows = episode.n_rows
        prior = self.networks.prior_output(x[:n_rows], mask[:n_rows])
        prior = None if prior is None else prior.repeat(episode.n_states, 1)
        return self.networks.forward_counted(x, mask, scores, episode.known_counts, prior)
