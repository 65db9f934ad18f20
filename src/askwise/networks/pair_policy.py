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
from askwise.core.ranking import Ranking, ranking_of
from askwise.core.rows import Rows
from askwise.core.tasks import Task
from askwise.core.tensors import at_least_float32
from askwise.networks.incremental import Contributions, ContributionTracker, FirstLayerTracker, GroupInputs
from askwise.networks.numpy_form import names_of_layers, row_networks
from askwise.networks.one_row import MlpRow, Units
from askwise.networks.pair import Networks
from askwise.networks.scaling import SCALINGS

# For so few states of a row, what each group adds is not worth computing apart.
FEW_STATES = 4


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
    base_rate: Tensor | None
    lookahead: Tensor | None

    def __init__(self, space: FeatureSpace, task: Task, networks: Networks, scaling: str = "none") -> None:
        super().__init__(space)
        self.networks = networks
        self.task = task
        self.scaling = scaling
        self.register_buffer("unit", torch.tensor(task.unit), persistent=False)
        self.register_buffer("temperature", torch.tensor(1.0))
        self.is_regression = task.kind == "regression"
        self.group_inputs = GroupInputs(space) if networks.first_layers else None
        # What is predicted if nothing is known; None leaves it to the networks.
        self.register_buffer("base_rate", None)
        self.register_buffer("lookahead", None)
        self.discount = 0.0

    def look_ahead(self, discount: float) -> None:
        """Rank groups by what the questions after them bring too; raw scores must be followed by as many of these.

        discount: how much counts what follows a question of the mean price; 0 ranks by one question.
        """
        self.lookahead = torch.tensor(discount, dtype=torch.float64, device=self.temperature.device)
        # Also as a number, which a step can use without waiting for a GPU.
        self.discount = discount

    @property
    def ranking(self) -> Ranking:
        return ranking_of(self.space, self.is_information, self.discount)

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
        if self.group_inputs.sums_pay:
            return ContributionTracker(self, rows, self.contributions(rows), self.belief_of)
        return FirstLayerTracker(self, rows, self.group_inputs, networks, self.belief_of)

    def belief_of(self, first: Tensor, scores: bool = True) -> Belief:
        """The belief from the outputs of the first layers, for a policy that is incremental."""
        return self._belief(*self.networks.onward(first, scores))

    def first_of_states(self, rows: Rows, known: Tensor) -> Tensor:
        """Outputs of the first layers in states of these rows, known (states, rows, groups): (states x rows, width)."""
        if self.group_inputs is not None and self.group_inputs.sums_pay and len(known) > FEW_STATES:
            return self.contributions(rows).first(known)
        mask = self.mask(known, rows.present).flatten(0, 1)
        return self.networks.first(self.hide(rows.x.repeat(len(known), 1), mask), mask)

    def contributions(self, rows: Rows) -> Contributions:
        """What each group of these rows adds to the outputs of the first layers."""
        assert self.group_inputs is not None
        return Contributions(self, self.networks, self.group_inputs, rows)

    def one_row(self) -> Callable[[], OneRow]:
        perceptrons = self.networks.perceptrons() if self.capabilities.numpy_form else []
        found = row_networks(self.space, perceptrons, self._units)
        return super().one_row() if found is None else partial(MlpRow, found)

    @property
    def _units(self) -> Units:
        unit = float(self.unit)
        factor = unit**0.5 if self.is_regression else 1 / float(self.temperature)
        of_scores = factor if self.tempered_scores else 1.0
        base_rate = None if self.base_rate is None else self.base_rate.double().cpu().numpy()
        return Units(factor, unit, self.scaling, of_scores, base_rate, self.discount > 0)

    def numpy_facts(self) -> dict[str, Any] | None:
        perceptrons = self.networks.perceptrons() if self.capabilities.numpy_form else []
        if row_networks(self.space, perceptrons, self._units) is None:
            return None
        units = self._units
        return {
            "layers": names_of_layers(self, perceptrons),
            "outputs": units.outputs,
            "scores": units.scores,
            "scaling": units.scaling,
            "score_outputs": units.score_outputs,
            "is_information": self.is_information,
            "base_rate": None if units.base_rate is None else units.base_rate.tolist(),
            "discount": self.discount,
        }

    def set_base_rate(self, outputs: Tensor) -> None:
        """Predict these outputs, (n_outputs,), if nothing is known, whatever the networks learn."""
        self.base_rate = outputs.to(self.temperature)

    def _from_base(self, outputs: Tensor) -> Tensor:
        """Outputs as they differ from those of nothing known."""
        if self.base_rate is None:
            return outputs
        return outputs - at_least_float32(self.networks.outputs_of_nothing())

    def _belief(self, outputs: Tensor, raw: Tensor | None) -> Belief:
        outputs = self._from_base(at_least_float32(outputs))
        scaled = outputs * self.unit.sqrt() if self.is_regression else outputs / self.temperature
        if self.base_rate is not None:
            scaled, outputs = scaled + self.base_rate, outputs + self.base_rate
        if raw is None:
            return Belief(scaled, None)
        scores = self._scale(at_least_float32(raw), scaled if self.tempered_scores else outputs)
        # A head that may look ahead, and does not, has scores that nobody needs.
        return Belief(scaled, *(scores.chunk(2, 1) if self.discount else [scores[:, : self.space.n_groups]]))

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        # Models saved before there was a temperature have none.
        state_dict.setdefault(f"{prefix}temperature", torch.tensor(1.0))
        # Models saved before there was a base rate leave it to the networks.
        base_rate = state_dict.get(f"{prefix}base_rate")
        if base_rate is not None:
            self.set_base_rate(base_rate)
        if f"{prefix}lookahead" in state_dict:
            self.look_ahead(float(state_dict[f"{prefix}lookahead"]))
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
