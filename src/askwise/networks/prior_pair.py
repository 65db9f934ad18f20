"""Perceptrons with a third one for what is known from the start: its representation is an input of both others."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from askwise.core.features import FeatureSpace
from askwise.networks.mlp import Mlp, MlpTrunk
from askwise.networks.pair import Networks


class FreeTrunk(MlpTrunk):
    """A trunk over the entries and the mask of free columns, side by side."""

    def forward(self, inputs: Tensor) -> Tensor:  # type: ignore[override]
        return self.onward(self.first(inputs))


class PriorNetworks(Networks):
    """Free columns through a network of their own; a predictor and a value network see what it makes of them.

    stop_gradient: predictions do not train it. The same free columns come with the same answer again and again, with
    one set of other columns after another: it would learn them by heart (the paper's appendix on implementation).
    """

    free: Tensor
    asked: Tensor

    def __init__(
        self, space: FeatureSpace, n_outputs: int, hidden: int, layers: int, dropout: float, stop_gradient: bool
    ) -> None:
        super().__init__()
        is_free = torch.tensor([group < 0 for group in space.group_of_column])
        inputs = torch.cat([is_free[torch.tensor(space.column_of_entry)], is_free])
        self.register_buffer("free", inputs.nonzero()[:, 0], persistent=False)
        self.register_buffer("asked", (~inputs).nonzero()[:, 0], persistent=False)
        self.prior = FreeTrunk(len(self.free), hidden, layers, dropout)
        seen = len(self.asked) + hidden
        self.predictor = Mlp(seen, hidden, n_outputs, layers, dropout)
        self.value = Mlp(seen, hidden, space.n_groups, layers, dropout)
        self.stop_gradient = stop_gradient
        if stop_gradient:
            # Of what it has no part in training, a prediction makes nothing until it has learnt to.
            nn.init.zeros_(self.predictor.first.weight[:, len(self.asked) :])

    @property
    def prior_network(self) -> nn.Module | None:
        return self.prior

    @property
    def prior_without_gradient(self) -> bool:
        return self.stop_gradient

    @property
    def predictor_parts(self) -> list[nn.Module]:
        return [self.predictor] if self.stop_gradient else [self.predictor, self.prior]

    def prior_output(self, x: Tensor, mask: Tensor) -> Tensor:
        found: Tensor = self.prior(torch.cat([x, mask.to(x.dtype)], 1)[:, self.free])
        return found

    def forward(
        self, x: Tensor, mask: Tensor, scores: bool = True, prior: Tensor | None = None
    ) -> tuple[Tensor, Tensor | None]:
        inputs = torch.cat([x, mask.to(x.dtype)], 1)
        prior = self.prior(inputs[:, self.free]) if prior is None else prior
        asked = inputs[:, self.asked]
        seen = torch.cat([asked, prior.detach() if self.stop_gradient else prior], 1)
        outputs = self.predictor.onward(self.predictor.first(seen))
        if not scores:
            return outputs, None
        return outputs, self.value.onward(self.value.first(torch.cat([asked, prior], 1)))
