"""A policy made of two networks: one predicts, the other scores every group."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from askwise.core.arrays import at_least_float32
from askwise.core.belief import Belief, OneRow
from askwise.core.features import FeatureSpace
from askwise.core.policy import Policy, Tracker
from askwise.core.rows import Rows
from askwise.core.tasks import Task
from askwise.networks.incremental import FirstLayerTracker, GroupInputs
from askwise.networks.one_row import MlpRow, RowNetworks, Units
from askwise.networks.pair import Networks
from askwise.networks.scaling import SCALINGS


class PairPolicy(Policy):
    """Predictor f(x_S) and a network v(x_S) with one score a group; `scaling` says what its raw scores mean.

    Logits are divided by `temperature`, 1 until the end of training.
    """

    unit: Tensor
    temperature: Tensor

    def __init__(self, space: FeatureSpace, task: Task, networks: Networks, scaling: str = "none") -> None:
        super().__init__(space)
        self.networks = networks
        self.scaling = scaling
        self.register_buffer("unit", torch.tensor(task.unit), persistent=False)
        self.register_buffer("temperature", torch.tensor(1.0))
        self.is_regression = task.kind == "regression"
        self.rounding = networks.rounding
        self.explores = networks.explores
        self.group_inputs = GroupInputs(space) if networks.first_layers else None

    def forward(self, x: Tensor, mask: Tensor, scores: bool = True) -> Belief:
        return self._belief(*self.networks(self.hide(x, mask), mask, scores))

    def hide(self, x: Tensor, mask: Tensor) -> Tensor:
        return x if self.networks.hides else super().hide(x, mask)

    def counted(
        self, x: Tensor, mask: Tensor, scores: bool, most: Sequence[tuple[int, int]], prior: Tensor | None
    ) -> Belief:
        """The same as calling it, where the most that any row of each part of the batch knows is known, and what its
        network makes of what is known from the start, if it has one."""
        return self._belief(*self.networks.counted(self.hide(x, mask), mask, scores, most, prior))

    @property
    def first_layers(self) -> list[nn.Linear]:
        """The networks' first layers, where all that follows is as here."""
        return self.networks.first_layers if self._is_plain else []

    @property
    def _is_plain(self) -> bool:
        """Whether a call does what it does here; a subclass may do otherwise."""
        return type(self).forward is PairPolicy.forward

    def track(self, rows: Rows) -> Tracker:
        if self._is_plain and (self.networks.counts_known or self.networks.prior_network is not None):
            return PairTracker(self, rows)
        if not self.first_layers or self.group_inputs is None or not self.group_inputs.pays:
            return super().track(rows)
        onward = self.networks.onward
        return FirstLayerTracker(
            self, rows, self.group_inputs, self.networks, lambda *given: self._belief(*onward(*given))
        )

    def one_row(self) -> Callable[[], OneRow]:
        unit = float(self.unit)
        units = Units(unit**0.5 if self.is_regression else 1 / float(self.temperature), unit, self.scaling)
        # A class made from this one may compute something else from the same networks.
        same = all(getattr(type(self), part) is getattr(PairPolicy, part) for part in ("forward", "_belief", "_scale"))
        networks = RowNetworks.of(self.space.n_groups, self.networks, units) if same else None
        return super().one_row() if networks is None else partial(MlpRow, networks)

    def _belief(self, outputs: Tensor, raw: Tensor | None) -> Belief:
        outputs, raw = at_least_float32(outputs), None if raw is None else at_least_float32(raw)
        outputs = outputs * self.unit.sqrt() if self.is_regression else outputs / self.temperature
        return Belief(outputs, None if raw is None else self._scale(raw, outputs))

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        # Models saved before there was a temperature have none.
        state_dict.setdefault(f"{prefix}temperature", torch.tensor(1.0))
        super()._load_from_state_dict(state_dict, prefix, *rest)

    def _scale(self, raw: Tensor, outputs: Tensor) -> Tensor:
        """Scores in the units of the loss; by default within 0 <= I <= H(y | x_S), without the entropy's gradient."""
        scores: Tensor = SCALINGS[self.scaling](raw, outputs.detach(), self.unit)
        return scores


class PairTracker(Tracker):
    """Thinks anew at every step all but what is known from the start; knows how many groups can be known by then."""

    policy: PairPolicy

    def __init__(self, policy: PairPolicy, rows: Rows) -> None:
        super().__init__(policy, rows)
        self.n_revealed = 0
        mask = policy.mask(torch.zeros_like(rows.available), rows.present)
        self.prior = policy.networks.prior_of(policy.hide(rows.x, mask), mask)

    def belief(self, known: Tensor, scores: bool = True) -> Belief:
        mask = self.policy.mask(known, self.rows.present)
        return self.policy.counted(self.rows.x, mask, scores, [(len(mask), self.n_revealed)], self.prior)

    def reveal(self, group: Tensor, asked: Tensor) -> None:
        del group, asked
        self.n_revealed += 1

    def keep(self, index: Tensor) -> None:
        super().keep(index)
        self.prior = None if self.prior is None else self.prior[index]
