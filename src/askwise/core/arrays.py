"""Operations on arrays of both kinds: torch's tensors (a batch) and numpy's arrays (one row of a session).

This module does not import torch until it meets a tensor: a session in numpy never needs it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

# Above this, torch takes the softplus of a number for the number itself.
SOFTPLUS_IS_LINEAR = 20.0


def is_numpy(array: Any) -> bool:
    """Whether an array is numpy's; else it is a tensor."""
    return isinstance(array, (np.ndarray, np.generic))


def namespace(array: Any) -> Any:
    """The module whose functions take this array."""
    if is_numpy(array):
        return np
    import torch

    return torch


def any_in_row(flags: Any) -> Any:
    """Whether any flag of each row is set; as bytes, since torch reduces bools at a fortieth of the speed."""
    return flags.any(1) if is_numpy(flags) else flags.view(namespace(flags).uint8).amax(1) > 0


def both(flags: Any, others: Any) -> Any:
    """Elementwise and; as bytes too, since one of them may be broadcast."""
    if is_numpy(flags):
        return flags & others
    torch = namespace(flags)
    return (flags.view(torch.uint8) & others.view(torch.uint8)).view(torch.bool)


def mask_with_neg_inf(values: Any, candidates: Any) -> Any:
    """Values of the candidates, -inf elsewhere, whatever the values are there."""
    if not is_numpy(values) and values.device.type == "cpu":
        # The smaller of a value and +inf or -inf: half the time of torch.where. NaN is the smallest of all.
        limit = candidates.view(namespace(values).int8).to(values.dtype).sub_(0.5).mul_(math.inf)
        return namespace(values).minimum(values.nan_to_num(-math.inf, math.inf, -math.inf), limit)
    return namespace(values).where(candidates, values, -math.inf)


def at_least_zero(values: Any) -> Any:
    """Values, 0 where they are negative."""
    return np.maximum(values, 0) if is_numpy(values) else values.clamp_min(0)


def one_in_row(values: Any, index: Any) -> Any:
    """One entry of each row of (batch, entries), by its index (batch,)."""
    if is_numpy(values):
        return values[np.arange(len(values)), index]
    return values.gather(1, index[:, None])[:, 0]


def largest(values: Any) -> tuple[Any, Any]:
    """The largest entry of each row and its index, the first of equals."""
    if is_numpy(values):
        index = values.argmax(1)
        return one_in_row(values, index), index
    found = values.max(1)
    return found.values, found.indices


def like(array: Any, other: Any) -> Any:
    """An array in the precision of another."""
    return array.astype(other.dtype, copy=False) if is_numpy(array) else array.to(other.dtype)


def log_softmax(outputs: Any) -> Any:
    """Log probabilities of logits (batch, classes)."""
    if not is_numpy(outputs):
        return outputs.log_softmax(-1)
    shifted = outputs - outputs.max(-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


def sigmoid(raw: Any) -> Any:
    """1 / (1 + exp(-raw)), without overflow."""
    if not is_numpy(raw):
        return raw.sigmoid()
    small = np.exp(-np.abs(raw))
    return np.where(raw >= 0, 1.0, small) / (1 + small)


def softplus(raw: Any) -> Any:
    """log(1 + exp(raw)), without overflow."""
    if not is_numpy(raw):
        return namespace(raw).nn.functional.softplus(raw)
    curved = np.log1p(np.exp(np.minimum(raw, SOFTPLUS_IS_LINEAR)))
    return np.where(raw > SOFTPLUS_IS_LINEAR, raw, curved)
