"""The rows to learn from, looked at before networks learn: what columns tell, and less noisy answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch

from askwise.core.arrays import Array
from askwise.core.features import FeatureSpace
from askwise.core.row_weights import effective_rows
from askwise.core.rows import Rows, evenly
from askwise.core.tasks import Task
from askwise.data.tables.column import edges_at_quantiles
from askwise.methods.parts import fewest_parts, parts_that_explain
from askwise.methods.screening import Screening, columns_of, gain_of_inputs
from askwise.methods.teacher import as_target, is_too_large, one_hot, soft_answers

# More rows would not change what a column tells by itself, or how finely it is cut.
MOST_SCREENED, MOST_CUT = 10_000, 40_000
# With many labels, so many rows times labels.
MOST_SHARES_CUT = 400_000


@dataclass(frozen=True)
class TrainingTable:
    """Rows with answers, as other tools than networks see them.

    selective: groups whose gaps tell the answer, which nothing is to be learnt from.
    """

    space: FeatureSpace
    task: Task
    rows: Rows
    selective: Sequence[int] = ()

    @cached_property
    def _parts(self) -> tuple[Array, Array, Array]:
        """Entries, presence and answers, as arrays."""
        assert self.rows.y is not None
        return tuple(part.cpu().numpy() for part in (self.rows.x, self.rows.present, self.rows.y))  # type: ignore[return-value]

    @cached_property
    def _weights(self) -> Array | None:
        """The weights of the rows, (rows,); None if all are equal."""
        return None if self.rows.weight is None else self.rows.weight.double().cpu().numpy()

    @cached_property
    def screening(self) -> Screening:
        """What each column tells by itself."""
        some = evenly(len(self.rows), MOST_SCREENED).numpy()
        x, present, answers = (part[some] for part in self._parts)
        weights = None if self._weights is None else self._weights[some]
        gaps_count = ~np.isin(self.space.group_of_column, self.selective)
        columns = columns_of(self.space, x, present)
        found = Screening.of(columns, one_hot(self.task, answers), weights, gaps_count)
        return replace(found, n_rows=effective_rows(self._weights, len(self.rows)))

    def edges(self, is_number: Array, n_parts: int | None) -> list[Array]:
        """The edges of so many parts of each number; None: of as many as suit answers and rows."""
        x, present, answers = self._parts
        values = columns_of(self.space, x, present).values
        most = min(MOST_CUT, max(MOST_SCREENED, MOST_SHARES_CUT // self.task.n_outputs))
        some = evenly(len(values), most).numpy()
        targets = one_hot(self.task, answers[some])
        found = [np.empty(0)] * len(is_number)
        for c in np.flatnonzero(is_number):
            known, here = ~np.isnan(values[:, c]), ~np.isnan(values[some, c])
            least = fewest_parts(int(np.count_nonzero(known)))
            weights = None if self._weights is None else self._weights[some][here]
            count = n_parts or max(least, parts_that_explain(values[some, c][here], targets[here], weights))
            found[c] = edges_at_quantiles(values[known, c], count)
        return found

    def gain(self) -> torch.Tensor:
        """The factors of a network's inputs while it learns, (n_inputs,)."""
        rows_of_entry = np.count_nonzero(self._parts[0], axis=0)
        return torch.from_numpy(gain_of_inputs(self.space, self.screening, rows_of_entry)).float()

    def with_soft_answers(self, seed: int) -> Rows:
        """The rows with less noisy answers to learn from, if there are any."""
        if is_too_large(len(self.rows), self.space.n_columns, self.space.n_entries):
            return self.rows
        x, present, answers = self._parts
        # That a value is there tells something only if it is not always.
        inputs = np.concatenate([x, present[:, ~present.all(0)]], axis=1)
        columns = columns_of(self.space, x, present)
        found = soft_answers(self.task, columns, inputs, answers, seed % 2**31, self._weights)
        if found is None:
            return self.rows
        return replace(self.rows, soft_y=as_target(self.task, found).to(self.rows.x.device))
