"""What a killed training run needs to go on: one safetensors file, written whole after each epoch."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import safetensors.torch
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from askwise.core.errors import AskwiseError
from askwise.data.whole_file import whole_file


@dataclass(frozen=True)
class Saved:
    """The state at the end of an epoch of a stage."""

    tensors: dict[str, Tensor]
    stage: int
    epoch: int
    best: float
    best_epoch: int
    done: bool
    history: list[dict[str, float | str]]

    @staticmethod
    def of(
        policy: nn.Module,
        objective: object,
        optimiser: torch.optim.Optimizer,
        average: list[Tensor],
        best_state: dict[str, Tensor],
        stage: int,
        epoch: int,
        best: float,
        best_epoch: int,
        done: bool,
        history: list[dict[str, float | str]],
    ) -> Saved:
        tensors = {f"policy.{k}": v for k, v in policy.state_dict().items()}
        tensors |= {f"best.{k}": v for k, v in best_state.items()}
        if isinstance(objective, nn.Module):
            tensors |= {f"objective.{k}": v for k, v in objective.state_dict().items()}
        tensors |= {f"average.{i}": v for i, v in enumerate(average)}
        for i, state in optimiser.state_dict()["state"].items():
            tensors |= {f"optimiser.{i}.{k}": torch.as_tensor(v) for k, v in state.items()}
        tensors = {k: v.detach().cpu().clone().contiguous() for k, v in tensors.items()}
        return Saved(tensors, stage, epoch, best, best_epoch, done, list(history))

    def restore(
        self,
        policy: nn.Module,
        objective: object,
        optimiser: torch.optim.Optimizer,
        average: list[Tensor],
        best_state: dict[str, Tensor],
    ) -> None:
        """Put everything back in place."""
        policy.load_state_dict(self._part("policy"))
        if isinstance(objective, nn.Module):
            objective.load_state_dict(self._part("objective"))
        best_state.update({k: v.to(best_state[k].device) for k, v in self._part("best").items()})
        for i, v in self._part("average").items():
            average[int(i)].copy_(v)
        state: dict[int, dict[str, Tensor]] = {}
        for key, v in self._part("optimiser").items():
            i, name = key.split(".", 1)
            state.setdefault(int(i), {})[name] = v
        optimiser.load_state_dict({**optimiser.state_dict(), "state": state})

    def _part(self, name: str) -> dict[str, Tensor]:
        return {k.removeprefix(f"{name}."): v for k, v in self.tensors.items() if k.startswith(f"{name}.")}


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
        }
        with whole_file(self.path) as part:
            # Not save_file: it hides the system's error, which tells a full disk.
            part.write_bytes(safetensors.torch.save(saved.tensors, {"askwise-checkpoint": json.dumps(facts)}))

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
