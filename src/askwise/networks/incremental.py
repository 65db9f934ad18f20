"""A first layer updated from step to step: revealing a group adds a few rows of its weights."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from askwise.core.belief import Belief
from askwise.core.features import FeatureSpace
from askwise.core.policy import Policy, Tracker
from askwise.core.rows import Rows
from askwise.networks.pair import Networks

# Adding rows of weights runs at the speed of memory, a product at that of arithmetic: it pays for small groups only.
LEAST_SAVING = 6
MOST_PADDING = 4


class GroupInputs(nn.Module):
    """Which of the network's inputs, entries then columns of the mask, each group reveals.

    index (groups, most): their positions, padded; there (groups, most): 1, and 0 for the padding.
    """

    index: Tensor
    there: Tensor

    def __init__(self, space: FeatureSpace) -> None:
        super().__init__()
        entries: list[list[int]] = [[] for _ in range(space.n_columns)]
        for entry, column in enumerate(space.column_of_entry):
            entries[column].append(entry)
        parts: list[list[int]] = [[] for _ in range(space.n_columns)]
        for entry, positions in space.part_positions.items():
            parts[space.column_of_entry[entry]] += positions
        inputs = [
            [i for c in columns for i in (*entries[c], space.n_entries + c, *parts[c])] for columns in space.members
        ]
        most, n_inputs = max(len(group) for group in inputs), space.n_inputs
        # All groups are padded to the largest: where one is much larger than the others, that fills memory.
        small = most * len(inputs) <= MOST_PADDING * n_inputs
        # Parts make a group's inputs many: then they are multiplied once for all states of a row.
        self.sums_pay = small and space.n_parts > 0
        self.pays = small and (self.sums_pay or most * LEAST_SAVING <= n_inputs)
        if not self.pays:
            inputs, most = [], 0
        index = torch.tensor([group + [0] * (most - len(group)) for group in inputs], dtype=torch.int64)
        there = torch.tensor([[1.0] * len(group) + [0.0] * (most - len(group)) for group in inputs])
        self.register_buffer("index", index, persistent=False)
        self.register_buffer("there", there, persistent=False)


def _first_of_free(policy: Policy, networks: Networks, rows: Rows, bias: Tensor) -> Tensor:
    """The outputs of the first layers if nothing but free columns is known, (rows, width)."""
    if not policy.space.has_free_columns:
        return bias.expand(len(rows), -1).contiguous()
    mask = policy.mask(torch.zeros_like(rows.available), rows.present)
    return networks.first(policy.hide(rows.x, mask), mask)


class FirstLayerTracker(Tracker):
    """Keeps the outputs of the first layers for what is known; `onward` turns them into a belief."""

    def __init__(
        self,
        policy: Policy,
        rows: Rows,
        inputs: GroupInputs,
        networks: Networks,
        onward: Callable[[Tensor, bool], Belief],
    ) -> None:
        super().__init__(policy, rows)
        self.group_inputs = inputs
        self.onward = onward
        weight, bias = (part.detach() for part in networks.first_weights())
        self.rows_of_weight = weight.T.contiguous()
        # What the network would see if everything were known: entries that are absent are 0 already.
        self.inputs = networks.inputs(rows.x, rows.present)
        self.first = _first_of_free(policy, networks, rows, bias).detach()

    def belief(self, known: Tensor, scores: bool = True) -> Belief:
        del known
        return self.onward(self.first, scores)

    def reveal(self, group: Tensor, asked: Tensor) -> None:
        index = self.group_inputs.index[group]
        amount = self.inputs.gather(1, index) * self.group_inputs.there[group] * asked[:, None]
        self.first = self.first + F.embedding_bag(index, self.rows_of_weight, mode="sum", per_sample_weights=amount)

    def keep(self, index: Tensor) -> None:
        super().keep(index)
        self.inputs, self.first = self.inputs[index], self.first[index]


class Contributions:
    """What each group of each row adds to the outputs of the first layers, of_group (rows, groups, width).

    base (rows, width): their outputs if no group is known.

    The first layers are linear in what is known: their outputs in any state are the base and a sum of contributions.
    So the inputs of a row, of which parts make many, are multiplied once for all its states.
    """

    def __init__(self, policy: Policy, networks: Networks, group_inputs: GroupInputs, rows: Rows) -> None:
        weight, bias = networks.first_weights()
        inputs = networks.inputs(rows.x, rows.present)
        index, there = group_inputs.index, group_inputs.there
        gathered = inputs[:, index] * there.to(inputs.dtype)
        self.of_group = torch.bmm(gathered.transpose(0, 1), weight.T[index]).transpose(0, 1)
        self.base = _first_of_free(policy, networks, rows, bias)

    def first(self, known: Tensor) -> Tensor:
        """Outputs of the first layers in states that know `known` (states, rows, groups): (states x rows, width)."""
        sums = torch.baddbmm(self.base[:, None], known.transpose(0, 1).to(self.base.dtype), self.of_group)
        return sums.transpose(0, 1).flatten(0, 1)


class ContributionTracker(Tracker):
    """Keeps the outputs of the first layers for what is known; the contributions of all groups are computed once."""

    def __init__(
        self, policy: Policy, rows: Rows, found: Contributions, onward: Callable[[Tensor, bool], Belief]
    ) -> None:
        super().__init__(policy, rows)
        self.onward = onward
        self.of_group = found.of_group.detach()
        self.first = found.base.detach()
        self.here = torch.arange(len(rows), device=rows.x.device)

    def belief(self, known: Tensor, scores: bool = True) -> Belief:
        del known
        return self.onward(self.first, scores)

    def reveal(self, group: Tensor, asked: Tensor) -> None:
        self.first = self.first + self.of_group[self.here, group] * asked[:, None]

    def keep(self, index: Tensor) -> None:
        super().keep(index)
        self.here, self.first = self.here[index], self.first[index]
