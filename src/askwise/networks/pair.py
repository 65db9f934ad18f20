"""A predictor and a value network side by side: separate, or on one trunk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from askwise.core.capabilities import Capabilities, Declaring, capabilities_of
from askwise.networks.mlp import Mlp, MlpTrunk, Perceptron, perceptron, plain_heads


class Networks(Declaring, nn.Module):
    """(x, mask, scores) -> outputs and, if asked for, raw scores.

    Networks with a `prior_network` take its output as `prior` too, if it has been computed already.
    """

    @property
    def prior_network(self) -> nn.Module | None:
        """The separate network that reads what is known from the start, if there is one."""
        return None

    @property
    def prior_without_gradient(self) -> bool:
        """Whether predictions do not train the prior network."""
        return False

    def prior_output(self, x: Tensor, mask: Tensor) -> Tensor | None:
        """The output of the prior network, (batch, width): the same whatever else is known of a row."""
        del x, mask
        return None

    def forward_counted(
        self, x: Tensor, mask: Tensor, scores: bool, most: Sequence[tuple[int, int]], prior: Tensor | None = None
    ) -> tuple[Tensor, Tensor | None]:
        """The same as forward(). most: for each part of the batch its rows, and the most groups a row knows there."""
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
        """The layers that read the inputs, if the networks are incremental; else none."""
        return []

    def first_weights(self) -> tuple[Tensor, Tensor]:
        """Weight and bias of the first layers, side by side."""
        layers = self.first_layers
        return torch.cat([layer.weight for layer in layers]), torch.cat([layer.bias for layer in layers])

    def first(self, x: Tensor, mask: Tensor) -> Tensor:
        """The outputs of the first layers, side by side, in one product."""
        return F.linear(self.inputs(x, mask), *self.first_weights())

    @property
    def score_head(self) -> nn.Linear:
        """The layer that gives raw scores."""
        raise NotImplementedError

    def keep_scores(self, count: int) -> None:
        """Drop all raw scores but the first ones."""
        head = self.score_head
        head.weight = nn.Parameter(head.weight[:count].detach().clone())
        head.bias = nn.Parameter(head.bias[:count].detach().clone())
        head.out_features = count

    def inputs(self, x: Tensor, mask: Tensor) -> Tensor:
        """What the first layers read."""
        raise NotImplementedError

    def outputs_of_nothing(self) -> Tensor:
        """The outputs if nothing is known, (1, n_outputs), without dropout, for networks that are incremental."""
        raise NotImplementedError

    def onward(self, first: Tensor, scores: bool = True) -> tuple[Tensor, Tensor | None]:
        """Outputs and raw scores from the outputs of the first layers."""
        raise NotImplementedError

    def perceptrons(self) -> list[Perceptron]:
        """The networks as numpy runs them; their last layers are outputs and raw scores, side by side."""
        raise NotImplementedError


class SeparateNetworks(Networks):
    """Two networks (x, mask) -> outputs and (x, mask) -> raw scores, which share nothing."""

    declared: ClassVar[Capabilities] = Capabilities(incremental=True, numpy_form=True)
    computed_by: ClassVar[tuple[str, ...]] = ("forward", "first", "onward")

    def __init__(self, predictor: nn.Module, value: nn.Module) -> None:
        super().__init__()
        self.predictor = predictor
        self.value = value

    @property
    def capabilities(self) -> Capabilities:
        return self.declared.limited_by(capabilities_of(self.predictor), capabilities_of(self.value))

    @property
    def predictor_parts(self) -> list[nn.Module]:
        return [self.predictor]

    @property
    def _both(self) -> tuple[Mlp, Mlp]:
        assert isinstance(self.predictor, Mlp)
        assert isinstance(self.value, Mlp)
        return self.predictor, self.value

    @property
    def score_head(self) -> nn.Linear:
        return self._both[1].head

    @property
    def first_layers(self) -> list[nn.Linear]:
        return [network.first for network in self._both] if self.capabilities.incremental else []

    def inputs(self, x: Tensor, mask: Tensor) -> Tensor:
        return self._both[0].trunk.inputs(x, mask)

    def perceptrons(self) -> list[Perceptron]:
        return [network.perceptron() for network in self._both]

    def onward(self, first: Tensor, scores: bool = True) -> tuple[Tensor, Tensor | None]:
        predictor, value = self._both
        width = predictor.first.out_features
        return predictor.onward(first[:, :width]), value.onward(first[:, width:]) if scores else None

    def outputs_of_nothing(self) -> Tensor:
        # Of the predictor alone: where only it is trained, the other network has no gradient at all.
        predictor = self._both[0]
        return predictor.onward(predictor.first.bias[None], dropout=False)

    def raw_scores(self, x: Tensor, mask: Tensor) -> Tensor:
        raw: Tensor = self.value(x, mask)
        return raw

    def forward(self, x: Tensor, mask: Tensor, scores: bool = True) -> tuple[Tensor, Tensor | None]:
        return self.predictor(x, mask), self.value(x, mask) if scores else None


class TwoHeads(Networks):
    """One trunk (x, mask) -> representation with a head for each; the trunk runs once."""

    def __init__(self, trunk: nn.Module, predictor_head: nn.Module, value_head: nn.Module) -> None:
        super().__init__()
        self.trunk = trunk
        self.predictor_head = predictor_head
        self.value_head = value_head

    @property
    def predictor_parts(self) -> list[nn.Module]:
        return [self.trunk, self.predictor_head]


class SharedNetworks(TwoHeads):
    """One trunk with linear heads."""

    declared: ClassVar[Capabilities] = Capabilities(incremental=True, numpy_form=True)
    computed_by: ClassVar[tuple[str, ...]] = ("forward", "first", "onward", "_heads")

    @property
    def capabilities(self) -> Capabilities:
        heads = plain_heads(self.predictor_head, self.value_head)
        return self.declared.limited_by(capabilities_of(self.trunk), heads)

    @property
    def score_head(self) -> nn.Linear:
        assert isinstance(self.value_head, nn.Linear)
        return self.value_head

    @property
    def _mlp_trunk(self) -> MlpTrunk:
        assert isinstance(self.trunk, MlpTrunk)
        return self.trunk

    @property
    def first_layers(self) -> list[nn.Linear]:
        return [self._mlp_trunk.first] if self.capabilities.incremental else []

    def inputs(self, x: Tensor, mask: Tensor) -> Tensor:
        return self._mlp_trunk.inputs(x, mask)

    def perceptrons(self) -> list[Perceptron]:
        assert isinstance(self.predictor_head, nn.Linear)
        return [perceptron(self._mlp_trunk, self.predictor_head, self.score_head)]

    def onward(self, first: Tensor, scores: bool = True) -> tuple[Tensor, Tensor | None]:
        return self._heads(self._mlp_trunk.onward(first), scores)

    def outputs_of_nothing(self) -> Tensor:
        trunk = self._mlp_trunk
        return self._heads(trunk.onward(trunk.first.bias[None], dropout=False), scores=False)[0]

    def forward(self, x: Tensor, mask: Tensor, scores: bool = True) -> tuple[Tensor, Tensor | None]:
        return self._heads(self.trunk(x, mask), scores)

    def _heads(self, representation: Tensor, scores: bool) -> tuple[Tensor, Tensor | None]:
        return self.predictor_head(representation), self.value_head(representation) if scores else None


@contextmanager
def zeroed_outputs(module: nn.Module | None) -> Iterator[None]:
    """Inside the block, the outputs of a module are zeros, whatever its inputs are."""

    def zeros(module: nn.Module, inputs: Any, outputs: Any) -> Any:
        del module, inputs
        if isinstance(outputs, Tensor):
            return torch.zeros_like(outputs)
        return type(outputs)(*map(torch.zeros_like, outputs))

    hook = None if module is None else module.register_forward_hook(zeros)
    try:
        yield
    finally:
        if hook is not None:
            hook.remove()
