"""The one training loop: stages of epochs over the same rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import torch
from torch import nn

from askwise.core.moved import keep_old_names
from askwise.core.rows import Rows, RowSource
from askwise.core.tensors import keep_memory
from askwise.training.checkpoint import Checkpoint
from askwise.training.draws import seeded_rng
from askwise.training.stage import Progress, Stage
from askwise.training.update import Objective, Plan
from askwise.training.weights import StateWeights, WeightedObjective

__all__ = ["Progress", "Training"]

T = TypeVar("T")


@dataclass
class Training:
    """A run of one or more stages over the same rows. A killed run goes on from its checkpoint.

    `train` may be too large for the device; `val` is on the device. `prepare` changes each batch on the device before
    it is learnt from. `weights` says how much a state counts, in every objective.
    """

    policy: nn.Module
    train: RowSource
    val: Rows
    seed: int
    checkpoint: Checkpoint | None = None
    report: Callable[[Progress], None] | None = None
    prepare: Callable[[Rows], Rows] = lambda rows: rows
    weights: StateWeights = field(default_factory=StateWeights)
    stages: list[str] = field(default_factory=list)
    history: list[dict[str, float | str]] = field(default_factory=list)
    settled: dict[str, Any] = field(default_factory=dict)
    recordable: bool = field(default=True, init=False)

    @property
    def device(self) -> torch.device:
        """The device of the policy, on which it learns."""
        return next(self.policy.parameters()).device

    def settle(self, name: str, find: Callable[[], T]) -> T:
        """What the data say, by the networks as they are now; a run that goes on later has it from its checkpoint."""
        saved = None if self.checkpoint is None else self.checkpoint.read()
        known = {} if saved is None else saved.settled
        self.settled[name] = known[name] if name in known else find()
        found: T = self.settled[name]
        return found

    def stage(self, name: str, objective: Objective, plan: Plan) -> None:
        """Minimise an objective; the policy ends with the averaged weights that the plan keeps."""
        index = len(self.stages)
        self.stages.append(name)
        saved = None if self.checkpoint is None else self.checkpoint.read()
        if saved is not None and saved.stage > index:
            return
        if isinstance(objective, WeightedObjective):
            objective.weights = self.weights
        keep_memory()
        with seeded_rng(self.device, self.seed):
            stage = Stage(self, name, index, objective, plan)
            if saved is not None and saved.stage == index:
                stage.resume(saved)
            stage.run()


keep_old_names(__name__)
