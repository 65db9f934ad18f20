"""What a value network's raw scores mean: information, in the units of the loss; of tensors and of arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from askwise.core.arrays import sigmoid, softplus
from askwise.core.tasks import entropy

# (raw scores, outputs without their gradient, unit of the loss) -> scores. "bounded": within 0 and H(y | x_S).
SCALINGS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "bounded": lambda raw, outputs, _: sigmoid(raw) * entropy(outputs)[:, None],
    "positive": lambda raw, _, unit: softplus(raw) * unit,
    "none": lambda raw, _, unit: raw * unit,
}
