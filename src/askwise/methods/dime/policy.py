"""DIME's policy: a predictor, and a value network with one score a group."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from askwise.core.belief import Belief
from askwise.networks.pair_policy import PairPolicy
from askwise.training.loop import evaluating
from askwise.training.update import aside


class DimePolicy(PairPolicy):
    """Predictor f(x_S) and value network v(x_S), one score a group in the units of the loss."""

    def learning(
        self, x: Tensor, mask: Tensor, group: Tensor, n_states: int, most: Sequence[tuple[int, int]]
    ) -> tuple[Belief, Tensor]:
        """A belief to learn from, and outputs as they will be used: without dropout, and without a gradient.

        Of the scores, (batch, 1), only that of one group (batch,) of each row. The batch is `n_states` times the same
        rows. most: of each part of the batch the number of rows, and the most groups that any of them knows.
        """
        hidden = self.hide(x, mask)
        if self.first_layers:
            # Dropout comes after the first layers, which most of the work is in: they are run once for both.
            first = self.networks.first(hidden, mask)
            outputs, raw = self.networks.onward(first)
            with aside(), evaluating(self):
                used, _ = self.networks.onward(first.detach(), scores=False)
        else:
            outputs, raw = self.networks.counted(hidden, mask, True, most, self._prior(hidden, mask, n_states))
            used = outputs.detach()
            if self.networks.is_noisy:
                with aside(), evaluating(self):
                    used, _ = self.networks.counted(hidden, mask, False, most, self._prior(hidden, mask, n_states))
        assert raw is not None
        return self._belief(outputs, raw.gather(1, group[:, None])), self._belief(used, None).outputs

    def _prior(self, x: Tensor, mask: Tensor, n_states: int) -> Tensor | None:
        """What the network of what is known from the start makes of each row, once for all its states."""
        n_rows = len(x) // n_states
        prior = self.networks.prior_of(x[:n_rows], mask[:n_rows])
        return None if prior is None else prior.repeat(n_states, 1)
