"""What the benchmarks of accuracy and of speed on digits share."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from askwise import AverageCost, Budget
from benchmarks.shared.options import Options

BUDGETS = (1, 2, 3, 5, 10, 15, 20)
SETTINGS: dict[str, Any] = {"max_steps": 20, "hidden": 128}


def accuracies(model: Any, x: np.ndarray, y: np.ndarray, average: float) -> list[float]:
    """In %, at each budget and with penalties, and the features that these took; some methods know no penalties."""
    found = [100 * float((model.predict(x, stop=Budget(k)) == y).mean()) for k in BUDGETS]
    if not model.model_.policy.is_information:
        return [*found, math.nan, math.nan]
    # The penalty is looked up on the validation rows; the features are counted on these.
    penalised = model.acquire(x, stop=AverageCost(average))
    return [*found, 100 * float((penalised.proba.argmax(1) == y).mean()), float(penalised.spent.mean())]


def options_of(description: str | None) -> Options:
    options = Options(description)
    options.add_data("data", "folder that holds digits_split.npz")
    options.add("--seeds", type=int, default=3, smoke=1)
    options.add_argument("--average", type=float, default=8.0, help="average number of features with penalties")
    return options
