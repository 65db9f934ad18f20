"""DIME's policy: a predictor, and a value network with one score a group."""

from __future__ import annotations

from torch import Tensor

from askwise.core.belief import Belief
from askwise.core.rows import Rows
from askwise.networks.pair_policy import PairPolicy
from askwise.training.episode import Episode
from askwise.training.modes import evaluating
from askwise.training.update import without_gradients


class DimePolicy(PairPolicy):
    """Predictor f(x_S) and value network v(x_S), one score a group in the units of the loss."""

    def forward_episode(self, rows: Rows, episode: Episode) -> tuple[Belief, Tensor]:
        """The belief of every state of an episode, and its outputs as they will be used.

        Outputs are (states x batch, n_outputs). Scores are returned for one group per state, the one that is asked
        from it, shape (states x batch, 1). The outputs as used are computed without dropout and without gradients.
        """
        mask = self.mask(episode.known, rows.present).flatten(0, 1)
        x = self.hide(rows.x.repeat(episode.n_states, 1), mask)
        if self.first_layers:
            # Dropout comes after the first layers, which do most of the work: they run once for both.
            first = self.networks.first(x, mask)
            outputs, raw = self.networks.onward(first)
            with without_gradients(), evaluating(self):
                outputs_eval, _ = self.networks.onward(first.detach(), scores=False)
        else:
            outputs, raw = self._forward_states(x, mask, True, episode)
            outputs_eval = outputs.detach()
            if self.capabilities.noisy_training:
                with without_gradients(), evaluating(self):
                    outputs_eval, _ = self._forward_states(x, mask, False, episode)
        assert raw is not None
        asked = raw.gather(1, episode.choice_of_states().flatten()[:, None])
        return self._belief(outputs, asked), self._belief(outputs_eval, None).outputs

    def _forward_states(self, x: Tensor, mask: Tensor, scores: bool, episode: Episode) -> tuple[Tensor, Tensor | None]:
        """Outputs and raw scores of all states; the prior network runs once for each row."""
        n_rows = episode.n_rows
        prior = self.networks.prior_output(x[:n_rows], mask[:n_rows])
        prior = None if prior is None else prior.repeat(episode.n_states, 1)
        return self.networks.forward_counted(x, mask, scores, episode.known_counts, prior)
