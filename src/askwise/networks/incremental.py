"""A first layer updated from step to step: revealing a group adds a few rows of its weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence

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


def inputs_of_groups(space: FeatureSpace) -> list[list[int]]:
    """Which of a network's inputs, entries then columns of the mask then parts, each group reveals."""
    entries: list[list[int]] = [[] for _ in range(space.n_columns)]
    for entry, column in enumerate(space.column_of_entry):
        entries[column].append(entry)
    parts: list[list[int]] = [[] for _ in range(space.n_columns)]
    for entry, positions in space.part_positions.items():
        parts[space.column_of_entry[entry]] += positions
    return [[i for c in columns for i in (*entries[c], space.n_entries + c, *parts[c])] for columns in space.members]


class PaddedInputs(nn.Module):
    """The inputs that groups reveal, padded to the largest group.

    index (groups, most): their positions; there (groups, most): 1, and 0 for the padding.
    """

    index: Tensor
    there: Tensor

    def __init__(self, inputs: Sequence[Sequence[int]]) -> None:
        super().__init__()
        most = max((len(group) for group in inputs), default=0)
        index = torch.tensor([[*group, *[0] * (most - len(group))] for group in inputs], dtype=torch.int64)
        there = torch.tensor([[1.0] * len(group) + [0.0] * (most - len(group)) for group in inputs])
        self.register_buffer("index", index, persistent=False)
        self.register_buffer("there", there, persistent=False)

    def sums(self, inputs: Tensor, weight: Tensor) -> Tensor:
        """What each group adds, (groups, rows, width), from inputs (inputs, rows) and weight (inputs, width)."""
        known = inputs[self.index] * self.there[..., None].to(inputs.dtype)
        return torch.bmm(known.mT, weight[self.index])


class GroupInputs(nn.Module):
    """How a first layer is updated: group by group, by sums of what each group adds, or (`pays` is False) not at all.

    all_groups: the inputs of every group, if they are about as many for each. of_like_size: the same groups in the
    order `order`, those with about as many inputs together. place (groups,): where each group is in that order.
    """

    order: Tensor
    place: Tensor

    def __init__(self, space: FeatureSpace) -> None:
        super().__init__()
        inputs = inputs_of_groups(space)
        most, n_inputs = max(len(group) for group in inputs), space.n_inputs
        # Parts make a group's inputs many: then they are multiplied once for all states of a row.
        self.sums_pay = space.n_parts > 0
        # If one group is much larger than the others, padding fills memory.
        small = most * len(inputs) <= MOST_PADDING * n_inputs
        self.pays = self.sums_pay or (small and most * LEAST_SAVING <= n_inputs)
        self.all_groups = PaddedInputs(inputs if self.pays and not self.sums_pay else [])
        by_size: dict[int, list[int]] = {}
        for group, its in enumerate(inputs):
            by_size.setdefault(len(its).bit_length(), []).append(group)
        order = torch.tensor([group for groups in by_size.values() for group in groups])
        self.of_like_size = nn.ModuleList(
            PaddedInputs([inputs[group] for group in groups]) for groups in by_size.values() if self.sums_pay
        )
        self.register_buffer("order", order, persistent=False)
        self.register_buffer("place", order.argsort(), persistent=False)

    def parts_of_like_size(self) -> list[PaddedInputs]:
        """The groups in `order`, in parts of groups with about as many inputs."""
        return [part for part in self.of_like_size if isinstance(part, PaddedInputs)]


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
        groups = self.group_inputs.all_groups
        index = groups.index[group]
        amount = self.inputs.gather(1, index) * groups.there[group] * asked[:, None]
        self.first = self.first + F.embedding_bag(index, self.rows_of_weight, mode="sum", per_sample_weights=amount)

    def keep(self, index: Tensor) -> None:
        super().keep(index)
        self.inputs, self.first = self.inputs[index], self.first[index]


class Contributions:
    """What each group of each row adds to the outputs of the first layers, of_group (rows, groups, width).

    Groups are in the `order` of the `GroupInputs`. base (rows, width): their outputs if no group is known.

    The first layers are linear in what is known: their outputs in any state are the base and a sum of contributions.
    So the inputs of a row, of which parts make many, are multiplied once for all its states.
    """

    def __init__(self, policy: Policy, networks: Networks, group_inputs: GroupInputs, rows: Rows) -> None:
        weight, bias = networks.first_weights()
        inputs = networks.inputs(rows.x, rows.present).T
        sums = [part.sums(inputs, weight.T) for part in group_inputs.parts_of_like_size()]
        self.of_group = torch.cat(sums).transpose(0, 1)
        self.base = _first_of_free(policy, networks, rows, bias)
        self.order, self.place = group_inputs.order, group_inputs.place

    def first(self, known: Tensor) -> Tensor:
        """Outputs of the first layers in states that know `known` (states, rows, groups): (states x rows, width)."""
        known = known[..., self.order]
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
        self.place = found.place
        self.first = found.base.detach()
        self.here = torch.arange(len(rows), device=rows.x.device)

    def belief(self, known: Tensor, scores: bool = True) -> Belief:
        del known
        return self.onward(self.first, scores)

    def reveal(self, group: Tensor, asked: Tensor) -> None:
        self.first = self.first + self.of_group[self.here, self.place[group]] * asked[:, None]

    def keep(self, index: Tensor) -> None:
        super().keep(index)
        self.here, self.first = self.here[index], self.first[index]
