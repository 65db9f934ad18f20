"""A predictor and a value network side by side: apart, or on one trunk."""

from __future__ import annotations

from torch import Tensor, nn


class Networks(nn.Module):
    """(x, mask, scores) -> outputs and, where asked for, raw scores."""

    @property
    def predictor_parts(self) -> list[nn.Module]:
        """The modules that a prediction runs through."""
        raise NotImplementedError


class SeparateNetworks(Networks):
    """Two networks (x, mask) -> outputs and (x, mask) -> raw scores, which share nothing."""

    def __init__(self, predictor: nn.Module, value: nn.Module) -> None:
        super().__init__()
        self.predictor = predictor
        self.value = value

    @property
    def predictor_parts(self) -> list[nn.Module]:
        return [self.predictor]

    def forward(self, x: Tensor, mask: Tensor, scores: bool = True) -> tuple[Tensor, Tensor | None]:
        return self.predictor(x, mask), self.value(x, mask) if scores else None


class SharedNetworks(Networks):
    """One trunk (x, mask) -> representation with a head for each; the trunk runs once."""

    def __init__(self, trunk: nn.Module, predictor_head: nn.Module, value_head: nn.Module) -> None:
        super().__init__()
        self.trunk = trunk
        self.predictor_head = predictor_head
        self.value_head = value_head

    @property
    def predictor_parts(self) -> list[nn.Module]:
        return [self.trunk, self.predictor_head]

    def forward(self, x: Tensor, mask: Tensor, scores: bool = True) -> tuple[Tensor, Tensor | None]:
        representation = self.trunk(x, mask)
        return self.predictor_head(representation), self.value_head(representation) if scores else None
