"""The rows to learn from, looked at before networks learn: what columns tell, and less noisy answers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch

from askwise.core.arrays import Array
from askwise.core.features import FeatureSpace
from askwise.core.rows import Rows, evenly
from askwise.core.tasks import Task
from askwise.methods.screening import Screening, columns_of, gain_of_inputs
from askwise.methods.teacher import as_target, one_hot, soft_answers

# More rows would not change what a column tells by itself.
MOST_SCREENED = 10_000


@dataclass(frozen=True)
class TrainingTable:
    """Rows with answers, as other tools than networks see them."""

    space: FeatureSpace
    task: Task
    rows: Rows

    @cached_property
    def _parts(self) -> tuple[Array, Array, Array]:
        """Entries, presence and answers, as arrays."""
        assert self.rows.y is not None
        return tuple(part.cpu().numpy() for part in (self.rows.x, self.rows.present, self.rows.y))  # type: ignore[return-value]

    @cached_property
    def screening(self) -> Screening:
        """What each column tells by itself."""
        some = evenly(len(self.rows), MOST_SCREENED).numpy()
        x, present, answers = (part[some] for part in self._parts)
        found = Screening.of(columns_of(self.space, x, present), one_hot(self.task, answers))
        return replace(found, n_rows=len(self.rows))

    def gain(self) -> torch.Tensor:
        """The factors of a network's inputs while it learns, (n_inputs,)."""
        rows_of_entry = np.count_nonzero(self._parts[0], axis=0)
        return torch.from_numpy(gain_of_inputs(self.space, self.screening, rows_of_entry)).float()

    def with_soft_answers(self, seed: int) -> Rows:
        """The rows with less noisy answers to learn from, if there are any."""
        x, present, answers = self._parts
        # That a value is there tells something only if it is not always.
        inputs = np.concatenate([x, present[:, ~present.all(0)]], axis=1)
        found = soft_answers(self.task, columns_of(self.space, x, present), inputs, answers, seed % 2**31)
        if found is None:
            return self.rows
        return replace(self.rows, soft_y=as_target(self.task, found).to(self.rows.x.device))
