"""Another prevalence than that of training, as what it adds to the logits of every prediction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from askwise.core.arrays import is_numpy
from askwise.core.belief import Belief


@dataclass(frozen=True)
class PriorShift:
    """Moves predictions from one prevalence to another; scores, and so questions and their values, stay.

    added: of each label, the logarithm of the new prevalence over that of training (Bayes' rule).
    """

    added: tuple[float, ...]

    def belief(self, belief: Belief) -> Belief:
        """The same belief with another prediction."""
        return belief._replace(outputs=self.outputs(belief.outputs))

    def outputs(self, outputs: Any) -> Any:
        """Logits (..., classes), tensor or array, at the other prevalence."""
        return outputs + (np.array(self.added) if is_numpy(outputs) else outputs.new_tensor(self.added))
