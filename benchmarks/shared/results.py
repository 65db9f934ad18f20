"""Tables of results: printed in Markdown, and written as JSON with machine and versions."""

from __future__ import annotations

import json
import os
import platform
from pathlib import Path
from typing import Any

import numpy as np
import torch

import askwise


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

    @property
    def contents(self) -> dict[str, Any]:
        """What is written as JSON."""
        return {"columns": self.columns, "rows": self.rows}

    def _line(self, row: list[Any]) -> str:
        cells = [
            f"{v:.3f}" if isinstance(v, float) and abs(v) < 10 else f"{v:.1f}" if isinstance(v, float) else str(v)
            for v in row
        ]
        return "| " + " | ".join(cells) + " |"

    def __str__(self) -> str:
        rule = "|" + "---|" * len(self.columns)
        return "\n".join([self._line(self.columns), rule, *(self._line(row) for row in self.rows)])


def gpu_name() -> str | None:
    return torch.cuda.get_device_name() if torch.cuda.is_available() else None


def facts() -> dict[str, Any]:
    """The machine and the versions that results are made with."""
    return {
        "askwise": askwise.__version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "machine": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
    }


def rounded(found: Any) -> Any:
    """Numbers to five digits: the files are kept."""
    if isinstance(found, dict):
        return {key: rounded(value) for key, value in found.items()}
    if isinstance(found, list):
        return [rounded(value) for value in found]
    return float(f"{found:.5g}") if isinstance(found, float) else found


def write_results(folder: Path, name: str, table: Table, **more: Any) -> None:
    """Write the table beside the machine and versions that made it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps({"facts": facts(), **table.contents, **more}, indent=1))
