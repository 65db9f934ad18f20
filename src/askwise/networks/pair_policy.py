"""A policy made of two networks: one predicts, the other scores every group."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from askwise.core.belief import Belief, OneRow
from askwise.core.capabilities import Capabilities
from askwise.core.features import FeatureSpace
from askwise.core.policy import Policy, Tracker
from askwise.core.rows import Rows
from askwise.core.tasks import Task
from askwise.core.tensors import at_least_float32
from askwise.networks.incremental import FirstLayerTracker, GroupInputs
from askwise.networks.numpy_form import names_of_layers, row_networks
from askwise.networks.one_row import MlpRow, Units
from askwise.networks.pair import Networks
from askwise.networks.scaling import SCALINGS


class PairPolicy(Policy):
    """Predictor f(x_S) and a network v(x_S) with one score a group; `scaling` says what its raw scores mean.

    Logits are divided by `temperature`, 1 until the end of training. Scores are not: they were trained at 1.
    tempered_scores: the scores of a model file of before, which were bounded by the entropy after the temperature.
    """

    declared: ClassVar[Capabilities] = Capabilities(known_count_hint=True, incremental=True, numpy_form=True)
    computed_by: ClassVar[tuple[str, ...]] = ("forward", "_belief", "_scale")
    tempered_scores: bool = False
    unit: Tensor
    temperature: Tensor

    def __init__(self, space: FeatureSpace, task: Task, networks: Networks, scaling: str = "none") -> None:
        super().__init__(space)
        self.networks = networks
        self.scaling = scaling
        self.register_buffer("unit", torch.tensor(task.unit), persistent=False)
        self.register_buffer("temperature", torch.tensor(1.0))
        self.is_regression = task.kind == "regression"
        self.group_inputs = GroupInputs(space) if networks.first_layers else None

    @property
    def capabilities(self) -> Capabilities:
        return self.declared.limited_by(self.networks.capabilities)

    def forward(self, x: Tensor, mask: Tensor, scores: bool = True) -> Belief:
        return self._belief(*self.networks(self.hide(x, mask), mask, scores))

    def hide(self, x: Tensor, mask: Tensor) -> Tensor:
        return x if self.networks.capabilities.masks_inputs else super().hide(x, mask)

    def forward_counted(
        self, x: Tensor, mask: Tensor, scores: bool, most: Sequence[tuple[int, int]], prior: Tensor | None
    ) -> Belief:
        """The same as forward(), told the most that a row of each part of the batch knows, and the prior's output."""
        return self._belief(*self.networks.forward_counted(self.hide(x, mask), mask, scores, most, prior))

    @property
    def first_layers(self) -> list[nn.Linear]:
        """The networks' first layers, if this policy is incremental; else none."""
        return self.networks.first_layers if self.capabilities.incremental else []

    def track(self, rows: Rows) -> Tracker:
        networks = self.networks
        has_prior = networks.prior_network is not None
        if self.capabilities.known_count_hint or (has_prior and self.declared.known_count_hint):
            return CountingTracker(self, rows)
        if not self.first_layers or self.group_inputs is None or not self.group_inputs.pays:
            return super().track(rows)
        return FirstLayerTracker(
            self, rows, self.group_inputs, networks, lambda *given: self._belief(*networks.onward(*given))
        )

    def one_row(self) -> Callable[[], OneRow]:
        perceptrons = self.networks.perceptrons() if self.capabilities.numpy_form else []
        found = row_networks(self.space.n_groups, perceptrons, self._units)
        return super().one_row() if found is None else partial(MlpRow, found)

    @property
    def _units(self) -> Units:
        unit = float(self.unit)
        factor = unit**0.5 if self.is_regression else 1 / float(self.temperature)
        return Units(factor, unit, self.scaling, factor if self.tempered_scores else 1.0)

    def numpy_facts(self) -> dict[str, Any] | None:
        perceptrons = self.networks.perceptrons() if self.capabilities.numpy_form else []
        if row_networks(self.space.n_groups, perceptrons, self._units) is None:
            return None
        units = self._units
        return {
            "layers": names_of_layers(self, perceptrons),
            "outputs": units.outputs,
            "scores": units.scores,
            "scaling": units.scaling,
            "score_outputs": units.score_outputs,
            "is_information": self.is_information,
        }

    def _belief(self, outputs: Tensor, raw: Tensor | None) -> Belief:
        outputs = at_least_float32(outputs)
        scaled = outputs * self.unit.sqrt() if self.is_regression else outputs / self.temperature
        if raw is None:
            return Belief(scaled, None)
        return Belief(scaled, self._scale(at_least_float32(raw), scaled if self.tempered_scores else outputs))

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        # Models saved before there was a temperature have none.
        state_dict.setdefault(f"{prefix}temperature", torch.tensor(1.0))
        super()._load_from_state_dict(state_dict, prefix, *rest)

    def _scale(self, raw: Tensor, outputs: Tensor) -> Tensor:
        """Scores in the units of the loss; by default within 0 <= I <= H(y | x_S), without the entropy's gradient."""
        scores: Tensor = SCALINGS[self.scaling](raw, outputs.detach(), self.unit)
        return scores


class CountingTracker(Tracker):
    """Computes the prior network once, and knows how many groups can be known at each step."""

    policy: PairPolicy

    def __init__(self, policy: PairPolicy, rows: Rows) -> None:
        super().__init__(policy, rows)
        self.n_revealed = 0
        mask = policy.mask(torch.zeros_like(rows.available), rows.present)
        self.prior = policy.networks.prior_output(policy.hide(rows.x, mask), mask)

    def belief(self, known: Tensor, scores: bool = True) -> Belief:
        mask = self.policy.mask(known, self.rows.present)
        return self.policy.forward_counted(self.rows.x, mask, scores, [(len(mask), self.n_revealed)], self.prior)

    def reveal(self, group: Tensor, asked: Tensor) -> None:
        del group, asked
        self.n_revealed += 1

    def keep(self, index: Tensor) -> None:
        super().keep(index)
        self.prior = None if self.prior is None else self.prior[index]
