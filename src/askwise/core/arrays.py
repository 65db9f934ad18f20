"""What torch's tensors and numpy's arrays do differently, and how to have torch do it fast on a CPU.

A batch runs in torch, a session's one row in numpy.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

Array = np.ndarray[Any, Any]

# Above this, torch takes the softplus of a number for the number itself.
SOFTPLUS_IS_LINEAR = 20.0


def namespace(array: Any) -> Any:
    """The module whose functions take this array."""
    return torch if isinstance(array, Tensor) else np


def uniform(costs: Any) -> bool:
    """Whether an array is one number, broadcast: known without looking at its contents, wherever they are."""
    return (costs.stride(0) if isinstance(costs, Tensor) else costs.strides[0]) == 0 and len(costs) > 1


def cost_array(costs: Sequence[float]) -> Array:
    """Costs as an array of float64, one number broadcast where they are all equal."""
    array = np.array(costs, dtype=np.float64)
    return np.broadcast_to(array[:1], array.shape) if len(set(costs)) == 1 else array


def cost_tensor(costs: Sequence[float], dtype: torch.dtype, device: torch.device | str) -> Tensor:
    """Costs on a device, one number broadcast where they are all equal."""
    if len(set(costs)) == 1:
        return torch.tensor(costs[:1], dtype=dtype, device=device).expand(len(costs))
    return torch.tensor(costs, dtype=dtype, device=device)


def any_in_row(truths: Any) -> Any:
    """Which rows hold a truth; as bytes, since torch looks through truths at a fortieth of the speed."""
    return truths.view(torch.uint8).amax(1) > 0 if isinstance(truths, Tensor) else truths.any(1)


def both(truths: Any, others: Any) -> Any:
    """Where both are true; as bytes too, where one is broadcast."""
    if isinstance(truths, Tensor):
        return (truths.view(torch.uint8) & others.view(torch.uint8)).view(torch.bool)
    return truths & others


def among(values: Any, candidates: Any) -> Any:
    """Values where they are candidates, -inf elsewhere, whatever the values are there."""
    if isinstance(values, Tensor) and values.device.type == "cpu":
        # The smaller of a value and +inf or -inf: half the time of choosing by truths. No number is smallest of all.
        limit = candidates.view(torch.int8).to(values.dtype).sub_(0.5).mul_(math.inf)
        return torch.minimum(values.nan_to_num(-math.inf, math.inf, -math.inf), limit)
    return namespace(values).where(candidates, values, -math.inf)


def at_least_zero(values: Any) -> Any:
    """Values, 0 where they are below."""
    return values.clamp_min(0) if isinstance(values, Tensor) else np.maximum(values, 0)


def largest(values: Any) -> tuple[Any, Any]:
    """The largest entry of each row and its place, the first of equals."""
    if isinstance(values, Tensor):
        found = values.max(1)
        return found.values, found.indices
    place = values.argmax(1)
    return values[np.arange(len(values)), place], place


def like(array: Any, other: Any) -> Any:
    """An array in the precision of another."""
    return array.to(other.dtype) if isinstance(array, Tensor) else array.astype(other.dtype, copy=False)


def at_least_float32(tensor: Tensor) -> Tensor:
    """What a product in half precision gave, in single precision; anything else as it is."""
    return tensor.float() if tensor.dtype in (torch.bfloat16, torch.float16) else tensor


def log_softmax(outputs: Any) -> Any:
    """Logarithms of the probabilities that logits (batch, classes) stand for."""
    if isinstance(outputs, Tensor):
        return F.log_softmax(outputs, dim=-1)
    shifted = outputs - outputs.max(-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


def sigmoid(raw: Any) -> Any:
    """1 / (1 + exp(-raw)), without overflow."""
    if isinstance(raw, Tensor):
        return torch.sigmoid(raw)
    small = np.exp(-np.abs(raw))
    return np.where(raw >= 0, 1.0, small) / (1 + small)


def softplus(raw: Any) -> Any:
    """log(1 + exp(raw)), without overflow."""
    if isinstance(raw, Tensor):
        return F.softplus(raw)
    curved = np.log1p(np.exp(np.minimum(raw, SOFTPLUS_IS_LINEAR)))
    return np.where(raw > SOFTPLUS_IS_LINEAR, raw, curved)


@contextmanager
def full_precision() -> Iterator[None]:
    """Have a GPU's convolutions compute in float32 as it is written, and not in its shorter form for tensor cores."""
    before = torch.backends.cudnn.allow_tf32
    torch.backends.cudnn.allow_tf32 = False
    try:
        yield
    finally:
        torch.backends.cudnn.allow_tf32 = before


def keep_memory() -> None:
    """Have the C library keep what is freed, rather than give it back and ask for it anew at every operation.

    glibc gives large blocks back at once until a larger one has been freed: this frees one that was never touched. It
    takes microseconds, and saves a tenth to a third of the time of work on arrays of a few megabytes.
    """
    torch.empty(31 * 2**20, dtype=torch.uint8)
