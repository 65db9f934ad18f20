"""What a killed training run needs to go on: one safetensors file, written whole after each epoch."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import safetensors.torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from askwise.core.errors import AskwiseError
from askwise.data.whole_file import whole_file
from askwise.training.update import part_of


@dataclass(frozen=True)
class Saved:
    """The state at the end of an epoch of a stage: what the update changes, and the best weights so far.

    settled: what was settled by the data in stages before.
    """

    tensors: dict[str, Tensor]
    stage: int
    epoch: int
    best: float
    best_epoch: int
    done: bool
    history: list[dict[str, float | str]]
    settled: dict[str, Any] = field(default_factory=dict)

    def part(self, name: str) -> dict[str, Tensor]:
        """The tensors whose names begin with this one, by the rest of their names."""
        return part_of(self.tensors, name)


@dataclass(frozen=True)
class Checkpoint:
    """A file in a folder; its name tells the run, so that runs on other data or settings never meet."""

    folder: Path
    fingerprint: str

    @property
    def path(self) -> Path:
        return self.folder / f"{self.fingerprint}.checkpoint"

    def tidy(self) -> None:
        """Remove what a run that was killed while writing left behind."""
        for part in self.folder.glob(f".{self.path.name}.*.part"):
            part.unlink(missing_ok=True)

    def write(self, saved: Saved) -> None:
        facts = {
            "stage": saved.stage,
            "epoch": saved.epoch,
            "best": saved.best,
            "best_epoch": saved.best_epoch,
            "done": saved.done,
            "history": saved.history,
            "settled": saved.settled,
        }
        with whole_file(self.path) as part:
            # Not save_file: it hides the system's error, which tells a full disk.
            tensors = {name: tensor.detach().cpu().clone().contiguous() for name, tensor in saved.tensors.items()}
            part.write_bytes(safetensors.torch.save(tensors, {"askwise-checkpoint": json.dumps(facts)}))

    def read(self) -> Saved | None:
        if not self.path.exists():
            return None
        try:
            with safe_open(self.path, framework="pt") as file:
                facts = json.loads(file.metadata()["askwise-checkpoint"])
                tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
        except (SafetensorError, KeyError, TypeError, json.JSONDecodeError) as error:
            raise AskwiseError(f"checkpoint {self.path} can't be read ({error}); delete it to start again") from error
        return Saved(tensors=tensors, **facts)
