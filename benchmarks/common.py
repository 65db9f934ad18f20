"""What the benchmarks share: a printed table, CPU seconds, and results as JSON with machine and versions."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch

import askwise

T = TypeVar("T")


def cpu_seconds(work: Callable[[], T]) -> tuple[T, float]:
    """The result of some work and the CPU seconds, of all threads, that it took."""
    start = time.process_time()
    result = work()
    return result, time.process_time() - start


class Table:
    """Rows under named columns, printed in Markdown."""

    def __init__(self, columns: list[str]) -> None:
        self.columns = columns
        self.rows: list[list[Any]] = []

    def add(self, row: list[Any]) -> None:
        self.rows.append(row)
        print(self._line(row), flush=True)

    def add_mean(self) -> None:
        numbers = np.array([row[1:] for row in self.rows], dtype=float)
        self.rows.append(["mean", *numbers.mean(0).tolist()])

    def _line(self, row: list[Any]) -> str:
        cells = [
            f"{v:.3f}" if isinstance(v, float) and abs(v) < 10 else f"{v:.1f}" if isinstance(v, float) else str(v)
            for v in row
        ]
        return "| " + " | ".join(cells) + " |"

    def __str__(self) -> str:
        rule = "|" + "---|" * len(self.columns)
        return "\n".join([self._line(self.columns), rule, *(self._line(row) for row in self.rows)])


def write_results(folder: str, name: str, table: Table, **more: Any) -> None:
    """Write the table beside the machine and versions that made it."""
    facts = {
        "askwise": askwise.__version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "machine": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
    }
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    data = {"facts": facts, "columns": table.columns, "rows": table.rows, **more}
    (target / f"{name}.json").write_text(json.dumps(data, indent=1))
