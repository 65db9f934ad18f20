"""Policies on random images, for benchmarks that time updates: what images show plays no part in the time."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from askwise import DimeImageClassifier
from askwise.core.rows import Rows
from askwise.core.tasks import Classification, Task


def policy_and_rows(
    method: DimeImageClassifier, size: int, device: torch.device, n_rows: int
) -> tuple[Any, Rows, Task]:
    """A fresh policy of ten classes, and rows of random images."""
    torch.manual_seed(0)
    images = np.random.default_rng(0).integers(0, 256, (n_rows, size, size, 3), dtype=np.uint8)
    schema = method.schema_of(images)
    task = Classification(tuple(range(10)))
    rows = schema.encode(images)
    rows = Rows(rows.x, rows.present, rows.available, torch.arange(n_rows) % 10).to(device)
    return method.build(schema.space, task).to(device), rows, task
