"""What was said, as a policy sees it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from askwise.core.arrays import Array
from askwise.core.step import bought
from askwise.data.tables.schema import Schema


class Row:
    """What was said, as a policy sees it: arrays of one row, in which each answer changes a few places."""

    def __init__(self, schema: Schema) -> None:
        space = schema.space
        self.schema = schema
        # In float32, as the rows of a table are encoded.
        self.x = np.zeros((1, space.n_entries), dtype=np.float32)
        self.present = np.zeros((1, space.n_columns), dtype=bool)
        self.known = np.zeros((1, space.n_groups), dtype=bool)
        self.available = np.ones((1, space.n_groups), dtype=bool)
        # Groups that were not asked in vain: only these are paid. None where that is no answer.
        self.recorded = np.ones((1, space.n_groups), dtype=bool) if space.presence_columns else None

    def put(self, answers: Mapping[str, Any]) -> None:
        """Take answers in by column; None is no answer."""
        for name, value in answers.items():
            if value is not None:
                self.schema.put(name, value, self.x, self.present)
            self.schema.put_presence(name, value is not None, self.x, self.present)

    @property
    def bought(self) -> Array:
        """The groups that were paid."""
        return np.asarray(bought(self.known, self.recorded))

    def settle(self, group: str, known: bool) -> None:
        """A group is known from now on, or can't be had, which is an answer too if the model takes it for evidence."""
        if not known and self.schema.takes_absence(group):
            for column in self.schema.columns_of(group):
                self.schema.put_presence(column.name, False, self.x, self.present)
            if self.recorded is not None:
                self.recorded[0, self.schema.space.position[group]] = False
            known = True
        (self.known if known else self.available)[0, self.schema.space.position[group]] = known
