"""A predictor and a value network side by side: apart, or on one trunk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from askwise.networks.mlp import Mlp, MlpTrunk


class Networks(nn.Module):
    """(x, mask, scores) -> outputs and, where asked for, raw scores.

    One with a `prior_network` takes what that gives too, as `prior`, where it has been computed already.
    hides: takes x as it is, and hides what is unknown itself. is_noisy: learns under noise, such as dropout, that is
    not there when it is used. explores: walks under that noise too. counts_known: is quicker where `counted` is told
    how much is known. rounding: how many times rougher float32 is than in a small perceptron. stops_gradient: what is
    known from the start has a network of its own, which predictions do not train.
    """

    hides: bool = False
    is_noisy: bool = True
    explores: bool = True
    counts_known: bool = False
    rounding: float = 1.0
    stops_gradient: bool = False

    @property
    def prior_network(self) -> nn.Module | None:
        """The network of its own that what is known from the start passes through, if it does."""
        return None

    def prior_of(self, x: Tensor, mask: Tensor) -> Tensor | None:
        """What that network gives, (batch, width): the same whatever else is known of a row."""
        del x, mask
        return None

    def counted(
        self, x: Tensor, mask: Tensor, scores: bool, most: Sequence[tuple[int, int]], prior: Tensor | None = None
    ) -> tuple[Tensor, Tensor | None]:
        """The same as calling it. most: for each part of the batch its rows, and the most groups that one knows."""
        del most
        found: tuple[Tensor, Tensor | None] = self(x, mask, scores, *(() if prior is None else (prior,)))
        return found

    def raw_scores(self, x: Tensor, mask: Tensor) -> Tensor:
        """Raw scores alone."""
        _, raw = self(x, mask)
        assert isinstance(raw, Tensor)
        return raw

    @property
    def predictor_parts(self) -> list[nn.Module]:
        """The modules that a prediction runs through."""
        raise NotImplementedError

    @property
    def first_layers(self) -> list[nn.Linear]:
        """The layers that see the inputs, where all that follows needs is what they give; else none."""
        return []

    def first_weights(self) -> tuple[Tensor, Tensor]:
        """Weight and bias of the first layers, side by side."""
        layers = self.first_layers
        return torch.cat([layer.weight for layer in layers]), torch.cat([layer.bias for layer in layers])

    def first(self, x: Tensor, mask: Tensor) -> Tensor:
        """What the first layers give, side by side, in one product."""
        return F.linear(torch.cat([x, mask.to(x.dtype)], 1), *self.first_weights())

    def onward(self, first: Tensor, scores: bool = True) -> tuple[Tensor, Tensor | None]:
        """Outputs and raw scores from what the first layers give."""
        raise NotImplementedError


class SeparateNetworks(Networks):
    """Two networks (x, mask) -> outputs and (x, mask) -> raw scores, which share nothing."""

    def __init__(self, predictor: nn.Module, value: nn.Module) -> None:
        super().__init__()
        self.predictor = predictor
        self.value = value
        _take_over(self, predictor)

    @property
    def predictor_parts(self) -> list[nn.Module]:
        return [self.predictor]

    @property
    def score_head(self) -> nn.Linear:
        assert isinstance(self.value, Mlp)
        return self.value.head

    @property
    def first_layers(self) -> list[nn.Linear]:
        if type(self.predictor) is Mlp and type(self.value) is Mlp:
            return _firsts(self.predictor.trunk, self.value.trunk)
        return []

    def onward(self, first: Tensor, scores: bool = True) -> tuple[Tensor, Tensor | None]:
        assert isinstance(self.predictor, Mlp)
        assert isinstance(self.value, Mlp)
        width = self.predictor.first.out_features
        return self.predictor.onward(first[:, :width]), self.value.onward(first[:, width:]) if scores else None

    def raw_scores(self, x: Tensor, mask: Tensor) -> Tensor:
        raw: Tensor = self.value(x, mask)
        return raw

    def forward(self, x: Tensor, mask: Tensor, scores: bool = True) -> tuple[Tensor, Tensor | None]:
        return self.predictor(x, mask), self.value(x, mask) if scores else None


class SharedNetworks(Networks):
    """One trunk (x, mask) -> representation with a head for each; the trunk runs once."""

    def __init__(self, trunk: nn.Module, predictor_head: nn.Module, value_head: nn.Linear) -> None:
        super().__init__()
        self.trunk = trunk
        _take_over(self, trunk)
        self.predictor_head = predictor_head
        self.value_head = value_head

    @property
    def predictor_parts(self) -> list[nn.Module]:
        return [self.trunk, self.predictor_head]

    @property
    def score_head(self) -> nn.Linear:
        return self.value_head

    @property
    def first_layers(self) -> list[nn.Linear]:
        return _firsts(self.trunk)

    def onward(self, first: Tensor, scores: bool = True) -> tuple[Tensor, Tensor | None]:
        assert isinstance(self.trunk, MlpTrunk)
        return self._heads(self.trunk.onward(first), scores)

    def forward(self, x: Tensor, mask: Tensor, scores: bool = True) -> tuple[Tensor, Tensor | None]:
        return self._heads(self.trunk(x, mask), scores)

    def _heads(self, representation: Tensor, scores: bool) -> tuple[Tensor, Tensor | None]:
        return self.predictor_head(representation), self.value_head(representation) if scores else None


@contextmanager
def silent(prior: nn.Module | None) -> Iterator[None]:
    """Have a prior's network say nothing, all zeros, whatever it is shown."""

    def nothing(module: nn.Module, given: Any, said: Any) -> Any:
        del module, given
        return torch.zeros_like(said) if isinstance(said, Tensor) else type(said)(*map(torch.zeros_like, said))

    hook = None if prior is None else prior.register_forward_hook(nothing)
    try:
        yield
    finally:
        if hook is not None:
            hook.remove()


def _take_over(networks: Networks, part: nn.Module) -> None:
    """Networks are as the part that sees the inputs is."""
    networks.hides = getattr(part, "hides", Networks.hides)
    networks.is_noisy = getattr(part, "is_noisy", Networks.is_noisy)
    networks.explores = getattr(part, "explores", Networks.explores)
    networks.rounding = getattr(part, "rounding", Networks.rounding)


def _firsts(*trunks: nn.Module) -> list[nn.Linear]:
    """The first layers of trunks that are exactly ours: one that was changed may compute something else from them."""
    found = [trunk.layers[0] for trunk in trunks if type(trunk) is MlpTrunk]
    plain = [layer for layer in found if type(layer) is nn.Linear and layer.bias is not None]
    return plain if len(plain) == len(trunks) else []
