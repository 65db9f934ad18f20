"""The one training loop: stages of epochs, early stopping, checkpoints."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from askwise.core.arrays import keep_memory
from askwise.core.errors import AskwiseError
from askwise.core.rows import Rows
from askwise.training.checkpoint import Checkpoint, Saved
from askwise.training.draws import own_draws
from askwise.training.recording import Learn, fastest
from askwise.training.update import Objective, Plan, Update, batch_norms

SECONDS_UNTOLD = 2.0


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
class Training:
    """A run of one or more stages over the same rows, that can be killed and go on.

    `train` may be too large for the device and stay on the host; `val` is on the device. `prepare` changes each batch
    before it is learnt from, on the device.
    """

    policy: nn.Module
    train: Rows
    val: Rows
    seed: int
    checkpoint: Checkpoint | None = None
    report: Callable[[Progress], None] | None = None
    prepare: Callable[[Rows], Rows] = lambda rows: rows
    stages: list[str] = field(default_factory=list)
    history: list[dict[str, float | str]] = field(default_factory=list)
    recordable: bool = field(default=True, init=False)

    @property
    def device(self) -> torch.device:
        """Where the policy is, and learns."""
        return next(self.policy.parameters()).device

    def stage(self, name: str, objective: Objective, plan: Plan) -> None:
        """Minimise an objective; the policy ends with the weights that the plan keeps, averaged."""
        index = len(self.stages)
        self.stages.append(name)
        saved = None if self.checkpoint is None else self.checkpoint.read()
        if saved is not None and saved.stage > index:
            return
        if saved is not None and saved.stage < index:
            saved = None
        keep_memory()
        with own_draws(self.device, self.seed):
            self._optimise(name, index, objective, plan, saved)

    def _optimise(self, name: str, index: int, objective: Objective, plan: Plan, saved: Saved | None) -> None:
        per_epoch, batch_size = even_batches(len(self.train), plan.batch_size)
        update = Update(self.policy, objective, plan, plan.epochs * per_epoch, self.prepare, self.device)
        best_state = self._state(update)
        best, best_epoch, start = math.inf, 0, 0
        if saved is not None:
            saved.restore(self.policy, objective, update.optimiser, update.average, best_state)
            best, best_epoch, start, self.history = saved.best, saved.best_epoch, saved.epoch + 1, saved.history
            update.go_on_from(start * per_epoch)
        done = saved is not None and saved.done
        learn: Learn | None = None
        told = time.monotonic()
        for epoch in range(start, 0 if done else plan.epochs):
            # Seeding each epoch anew makes a resumed run draw what the unbroken one drew.
            torch.manual_seed(hash_seed(self.seed, index, epoch))
            learn_with(self.policy)
            update.total.zero_()
            for b, (rows, weight) in enumerate(shuffled(self.train, per_epoch, batch_size, self.device)):
                if learn is None:
                    learn = fastest(update, rows, weight) if self.recordable else update
                    # What could not be recorded in one stage is not tried, and told, again in the next.
                    self.recordable = learn is not update
                learn(rows, weight)
                if self.report is not None and time.monotonic() - told > SECONDS_UNTOLD:
                    told = time.monotonic()
                    fraction = (epoch * per_epoch + b) / (plan.epochs * per_epoch)
                    self.report(Progress(name, epoch, plan.epochs, fraction, best))
            validation = self._validate(update)
            if validation < best or not plan.keep_best:
                best, best_epoch = validation, epoch
                best_state = self._state(update)
            self.history.append(
                {"stage": name, "epoch": epoch, "loss": float(update.total) / per_epoch, "validation_loss": validation}
            )
            done = plan.patience is not None and epoch - best_epoch >= plan.patience
            done = done or epoch == plan.epochs - 1
            if self.checkpoint is not None:
                self.checkpoint.write(
                    Saved.of(
                        self.policy,
                        objective,
                        update.optimiser,
                        update.average,
                        best_state,
                        index,
                        epoch,
                        best,
                        best_epoch,
                        done,
                        self.history,
                    )
                )
            if self.report is not None:
                told = time.monotonic()
                self.report(Progress(name, epoch, plan.epochs, (epoch + 1) / plan.epochs, best))
            if done:
                break
        if plan.keep_best and not math.isfinite(best):
            raise AskwiseError(
                f"training came to nothing: in the stage {name!r} the validation loss was never a finite number; "
                "try a lower learning_rate, or look for extreme values in the table"
            )
        self.policy.load_state_dict(best_state)
        self.policy.eval()

    def _state(self, update: Update) -> dict[str, Tensor]:
        """A copy of the policy's state with the averaged weights in place."""
        with swapped(update.averaged, update.average):
            return {k: v.detach().clone() for k, v in self.policy.state_dict().items()}

    def _validate(self, update: Update) -> float:
        self.policy.eval()
        with torch.no_grad(), swapped(update.averaged, update.average), update.precision():
            return float(update.objective.validate(self.val))


def hash_seed(*parts: int) -> int:
    """One seed of several numbers; far apart even where they are close."""
    seed = 0x9E3779B97F4A7C15
    for part in parts:
        seed = (seed ^ (part + 0x7F4A7C15)) * 0xBF58476D1CE4E5B9 % 2**64
        seed ^= seed >> 31
    return seed % 2**63


def even_batches(n_rows: int, batch_size: int) -> tuple[int, int]:
    """The number of batches in an epoch and their common size: as even as can be, the last one padded."""
    count = max(1, math.ceil(n_rows / batch_size))
    return count, math.ceil(n_rows / count)


def placed(rows: Rows, device: torch.device, share: float = 0.5) -> Rows:
    """Rows on the device where they take at most a share of its free memory; else as they are, sent batch by batch."""
    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        if sum(part.nbytes for part in rows.parts) > share * free:
            return rows
    return rows.to(device)


def shuffled(rows: Rows, count: int, size: int, device: torch.device) -> Iterator[tuple[Rows, Tensor]]:
    """An epoch of `count` batches of exactly `size` rows, with weight 0 for the padding of the last one.

    Rows that live elsewhere than on the device come to it batch by batch, while it is at work on earlier ones.
    """
    n = len(rows)
    order = torch.randperm(n, device=rows.x.device)
    padded = torch.cat([order, order[: count * size - n]])
    weight = (torch.arange(count * size, device=device) < n).float()
    for start in range(0, count * size, size):
        batch = rows.take(padded[start : start + size])
        yield batch if rows.x.device == device else batch.sent(device), weight[start : start + size]


@contextmanager
def swapped(places: list[Tensor], others: list[Tensor]) -> Iterator[None]:
    """Run with other values in place of these."""
    own = [place.clone() for place in places]
    with torch.no_grad():
        torch._foreach_copy_(places, others)
    try:
        yield
    finally:
        with torch.no_grad():
            torch._foreach_copy_(places, own)


@contextmanager
def frozen(modules: list[nn.Module]) -> Iterator[None]:
    """Train everything but these modules."""
    parameters = [p for module in modules for p in module.parameters() if p.requires_grad]
    for p in parameters:
        p.requires_grad_(False)
    try:
        yield
    finally:
        for p in parameters:
            p.requires_grad_(True)


def learn_with(policy: nn.Module) -> None:
    """Put a policy into the mode to learn in; batch norms that are frozen keep their statistics too."""
    policy.train()
    for norm in batch_norms(policy):
        if norm.weight is not None and not norm.weight.requires_grad:
            norm.eval()


@contextmanager
def evaluating(module: nn.Module) -> Iterator[None]:
    """Run a module as it will be used, without dropout, and put it back into the mode it was in."""
    # Each part's own: some may rest while others learn.
    before = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for part, mode in before:
            part.training = mode


@contextmanager
def threads(count: int | None) -> Iterator[None]:
    """Run with a number of CPU threads; None: with as many as torch has."""
    before = torch.get_num_threads()
    if count is not None:
        torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
