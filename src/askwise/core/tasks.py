"""What is predicted: the loss of a prediction, and how outputs become answers.

Losses need torch, which they import when they are first computed; a session in numpy computes none.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from askwise.core.arrays import Array, is_numpy, like, log_softmax, namespace

if TYPE_CHECKING:
    import torch
    from torch import Tensor


def entropy(outputs: Any) -> Any:
    """H(y | x_S) in nats of logits (batch, classes), tensor or array."""
    # In float64: float32 keeps hardly a digit of the small entropy of a sure prediction. A graph for other programs
    # stays in float32, since some of them do not support float64.
    wide = not is_numpy(outputs) and not namespace(outputs).compiler.is_compiling()
    log_p = log_softmax(outputs.double() if wide else outputs)
    # p log p with p = exp(log p) is exact at p = 0: exp(-inf) never meets a logarithm.
    return like(-(namespace(log_p).exp(log_p) * log_p).sum(-1), outputs)


def error_probability(outputs: Any) -> Any:
    """1 - max p, the probability that the most likely label is wrong, of logits (..., classes), tensor or array."""
    # In float64, and without the difference of two numbers near 1: that of a sure prediction is small.
    log_p = log_softmax(outputs if is_numpy(outputs) else outputs.double())
    return like(-namespace(log_p).expm1(namespace(log_p).amax(log_p, -1)), outputs)


def _numbers(outputs: Any) -> Array:
    """Outputs, tensor or array, as an array of float64."""
    return outputs if is_numpy(outputs) else outputs.double().cpu().numpy()


@lru_cache(maxsize=32)
def _tensor(values: tuple[float, ...], dtype: torch.dtype, device: torch.device) -> Tensor:
    """A constant on a device, copied there once: a copy in every training step would make the host wait."""
    import torch

    return torch.tensor(values, dtype=dtype, device=device)


def cross_entropy(outputs: Tensor, y: Tensor) -> Tensor:
    """Cross entropy of each row in nats, of logits and numbers of labels (rows,) or shares of labels (rows, labels)."""
    from torch.nn import functional as F

    return F.cross_entropy(outputs, y, reduction="none")


class Task(ABC):
    """A kind of answer. Outputs are (batch, n_outputs) tensors in the user's units."""

    kind: ClassVar[str]

    @property
    @abstractmethod
    def n_outputs(self) -> int: ...

    @property
    @abstractmethod
    def unit(self) -> float:
        """The size of one natural unit of loss, by which training divides: nats, or the variance of y."""

    @abstractmethod
    def encode(self, y: Array) -> Tensor:
        """Answers as the tensor that the loss takes."""

    @abstractmethod
    def loss(self, outputs: Tensor, y: Tensor) -> Tensor:
        """Loss of each row, the one whose improvement is information."""

    @abstractmethod
    def training_loss(self, outputs: Tensor, y: Tensor) -> Tensor:
        """Loss of each row that the predictor descends."""

    @abstractmethod
    def base_outputs(self, y: Tensor, weight: Tensor | None = None) -> Tensor:
        """The outputs (n_outputs,) that predict these answers best if nothing is known of a row. weight: (rows,)."""

    @abstractmethod
    def decode(self, outputs: Any) -> Array:
        """Outputs, tensor or array, as the user reads them: probabilities (rows, classes), or predictions (rows,)."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]: ...


@dataclass(frozen=True)
class Classification(Task):
    """One of several labels, cross entropy in nats; outputs are logits at the training prevalence.

    Losses take answers as numbers of labels (rows,), or as shares of the labels (rows, labels).
    """

    labels: tuple[Any, ...]
    weights: tuple[float, ...] | None = None
    kind: ClassVar[str] = "classification"

    @property
    def n_outputs(self) -> int:
        return len(self.labels)

    @property
    def unit(self) -> float:
        return 1.0

    def encode(self, y: Array) -> Tensor:
        import torch

        position = {label: i for i, label in enumerate(self.labels)}
        return torch.tensor([position[label] for label in y.tolist()], dtype=torch.int64)

    def loss(self, outputs: Tensor, y: Tensor) -> Tensor:
        return cross_entropy(outputs, y)

    def training_loss(self, outputs: Tensor, y: Tensor) -> Tensor:
        """Cross entropy; with class weights w, of logits + log w, so that the logits stay at the true prevalence.

        The minimum of E[w_y CE(logits + log w)] has softmax(logits + log w) proportional to w p(y | x), that is
        softmax(logits) = p(y | x): nothing is left to correct afterwards.
        """
        if self.weights is None:
            return self.loss(outputs, y)
        weights = _tensor(self.weights, outputs.dtype, outputs.device)
        if y.is_floating_point():
            return cross_entropy(outputs + weights.log(), y * weights)
        return cross_entropy(outputs + weights.log(), y) * weights[y]

    def base_outputs(self, y: Tensor, weight: Tensor | None = None) -> Tensor:
        # A label that is absent here may still come: as rare as half a row.
        weight = None if weight is None else weight.double()
        counts = y.bincount(weight, self.n_outputs).double().clamp_min(0.5)
        return (counts / counts.sum()).log()

    def decode(self, outputs: Any) -> Array:
        return np.exp(log_softmax(_numbers(outputs)))

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "labels": list(self.labels), "weights": self.weights}


@dataclass(frozen=True)
class Regression(Task):
    """A number, squared error in squared units of y; outputs are differences from `center`."""

    center: float
    scale: float
    kind: ClassVar[str] = "regression"

    @property
    def n_outputs(self) -> int:
        return 1

    @property
    def unit(self) -> float:
        return self.scale**2

    def encode(self, y: Array) -> Tensor:
        import torch

        return torch.as_tensor(y.astype(np.float64) - self.center).float()

    def loss(self, outputs: Tensor, y: Tensor) -> Tensor:
        return (outputs[..., 0] - y) ** 2

    def training_loss(self, outputs: Tensor, y: Tensor) -> Tensor:
        return self.loss(outputs, y)

    def base_outputs(self, y: Tensor, weight: Tensor | None = None) -> Tensor:
        if weight is None:
            return y.double().mean()[None]
        return ((y.double() * weight).sum() / weight.double().sum())[None]

    def decode(self, outputs: Any) -> Array:
        return _numbers(outputs)[..., 0] + self.center

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "center": self.center, "scale": self.scale}


TASKS: dict[str, type[Task]] = {"classification": Classification, "regression": Regression}


def task_from_dict(data: dict[str, Any]) -> Task:
    settings = {k: tuple(v) if isinstance(v, list) else v for k, v in data.items() if k != "kind"}
    return TASKS[data["kind"]](**settings)
