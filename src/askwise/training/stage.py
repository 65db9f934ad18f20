"""One stage of training: epochs of updates, validation, the best weights, checkpoints."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from askwise.core.errors import AskwiseError
from askwise.core.rows import Rows, RowSource, even_batches
from askwise.training.checkpoint import Checkpoint, Saved
from askwise.training.draws import hash_seed
from askwise.training.modes import set_training_mode, swapped_weights
from askwise.training.recording import Learn, capture_if_possible
from askwise.training.update import Objective, Plan, Update

SECONDS_BETWEEN_REPORTS = 2.0


@dataclass(frozen=True)
class Progress:
    """What a progress bar needs to know: after each epoch, and every two seconds within a long one.

    fraction: how much of the stage is done, if it runs to its end.
    """

    stage: str
    epoch: int
    epochs: int
    fraction: float
    best: float


@dataclass
class BestWeights:
    """The weights to end with: those of the lowest validation loss, or the last ones."""

    state: dict[str, Tensor]
    loss: float = math.inf
    epoch: int = 0


class Run(Protocol):
    """What a stage needs of the run it belongs to; `loop.Training` is one."""

    policy: nn.Module
    train: RowSource
    val: Rows
    seed: int
    checkpoint: Checkpoint | None
    report: Callable[[Progress], None] | None
    history: list[dict[str, float | str]]
    settled: dict[str, Any]
    recordable: bool

    @property
    def prepare(self) -> Callable[[Rows], Rows]: ...

    @property
    def device(self) -> torch.device: ...


class Stage:
    """Minimises one objective over the rows of a run, by a plan."""

    def __init__(self, run: Run, name: str, index: int, objective: Objective, plan: Plan) -> None:
        self.training = run
        self.name = name
        self.index = index
        self.plan = plan
        self.per_epoch, self.batch_size = even_batches(len(run.train), plan.batch_size)
        self.update = Update(run.policy, objective, plan, plan.epochs * self.per_epoch, run.prepare, run.device)
        self.best = BestWeights(self._averaged_state())
        self.start = 0
        self.done = False
        self.reported = time.monotonic()
        self._learn: Learn | None = None

    def resume(self, saved: Saved) -> None:
        """Go on where a checkpoint ends."""
        self.start = saved.epoch + 1
        self.done = saved.done
        self.update.load(saved.tensors, self.start * self.per_epoch)
        best = {name: tensor.to(self.best.state[name].device) for name, tensor in saved.part("best").items()}
        self.best = BestWeights(best, saved.best, saved.best_epoch)
        self.training.history = saved.history

    def run(self) -> None:
        """Train epoch by epoch until the plan ends or nothing improves; the policy gets the best weights."""
        for epoch in range(self.start, 0 if self.done else self.plan.epochs):
            loss = self.train_epoch(epoch)
            validation = self.validate()
            self.keep_best(epoch, validation)
            self.training.history.append(
                {"stage": self.name, "epoch": epoch, "loss": loss, "validation_loss": validation}
            )
            self.done = self.ends_after(epoch)
            self.write_checkpoint(epoch)
            self.report(epoch, (epoch + 1) / self.plan.epochs)
            if self.done:
                break
        if self.plan.keep_best and not math.isfinite(self.best.loss):
            raise AskwiseError(
                f"training came to nothing: in the stage {self.name!r} the validation loss was never a finite number; "
                "try a lower learning_rate, or look for extreme values in the table"
            )
        self.training.policy.load_state_dict(self.best.state)
        self.training.policy.eval()

    def train_epoch(self, epoch: int) -> float:
        """One pass over the rows; returns the mean loss."""
        # Each epoch has a seed of its own, so that a resumed run draws what the unbroken one drew.
        torch.manual_seed(hash_seed(self.training.seed, self.index, epoch))
        set_training_mode(self.training.policy)
        self.update.total.zero_()
        batches = self.training.train.shuffled_batches(self.per_epoch, self.batch_size, self.training.device)
        for b, (rows, weight) in enumerate(batches):
            self.learn(rows, weight)
            if time.monotonic() - self.reported > SECONDS_BETWEEN_REPORTS:
                done = epoch * self.per_epoch + b
                self.report(epoch, done / (self.plan.epochs * self.per_epoch))
        return float(self.update.total) / self.per_epoch

    def learn(self, rows: Rows, weight: Tensor) -> None:
        """Learn from one batch, in the fastest way that works on this device."""
        if self._learn is None:
            self._learn = capture_if_possible(self.update, rows, weight) if self.training.recordable else self.update
            # If an update can't be recorded in one stage, the next one does not try, and warn, again.
            self.training.recordable = self._learn is not self.update
        self._learn(rows, weight)

    def validate(self) -> float:
        """The validation loss of the averaged weights."""
        self.training.policy.eval()
        update = self.update
        with torch.no_grad(), swapped_weights(update.averaged, update.average), update.precision():
            return float(update.objective.validate(self.training.val))

    def keep_best(self, epoch: int, validation: float) -> None:
        """Keep these weights if they validate better, or if the plan wants the last ones."""
        if validation < self.best.loss or not self.plan.keep_best:
            self.best = BestWeights(self._averaged_state(), validation, epoch)

    def ends_after(self, epoch: int) -> bool:
        """Whether this epoch is the last one: of the plan, or of its patience."""
        patience = self.plan.patience
        return epoch == self.plan.epochs - 1 or (patience is not None and epoch - self.best.epoch >= patience)

    def write_checkpoint(self, epoch: int) -> None:
        checkpoint, best = self.training.checkpoint, self.best
        if checkpoint is not None:
            tensors = self.update.tensors() | {f"best.{name}": tensor for name, tensor in best.state.items()}
            so_far = list(self.training.history), dict(self.training.settled)
            checkpoint.write(Saved(tensors, self.index, epoch, best.loss, best.epoch, self.done, *so_far))

    def report(self, epoch: int, fraction: float) -> None:
        self.reported = time.monotonic()
        if self.training.report is not None:
            self.training.report(Progress(self.name, epoch, self.plan.epochs, fraction, self.best.loss))

    def _averaged_state(self) -> dict[str, Tensor]:
        """A copy of the policy's state with the averaged weights in place."""
        with swapped_weights(self.update.averaged, self.update.average):
            return {name: tensor.detach().clone() for name, tensor in self.training.policy.state_dict().items()}
