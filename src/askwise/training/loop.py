"""The one training loop: optimiser, schedule, averaging, early stopping, checkpoints."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

import torch
from torch import Tensor, nn

from askwise.features import Rows
from askwise.training.checkpoint import Checkpoint, Saved
from askwise.training.draws import own_draws

SECONDS_UNTOLD = 2.0


class Objective(Protocol):
    """What a method wants minimised."""

    def loss(self, rows: Rows, weight: Tensor, progress: Tensor) -> Tensor:
        """The loss of a batch; weight (batch,) is 0 for padding, progress a scalar in [0, 1) of the stage."""
        ...

    def validate(self, rows: Rows) -> Tensor:
        """The number early stopping looks at, lower is better; called without gradients, in evaluation mode."""
        ...


@dataclass(frozen=True)
class Plan:
    """How long and how fast a stage trains.

    patience: epochs without improvement after which it stops. averaging: the decay of the running mean of the weights.
    keep_best: end with the weights that validated best; else with the last ones, where validation is mostly noise.
    """

    epochs: int
    batch_size: int
    learning_rate: float = 2e-3
    weight_decay: float = 0.05
    patience: int | None = None
    averaging: float = 0.99
    keep_best: bool = True


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

    `prepare` changes each batch before it is learnt from, on the device.
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

    def stage(self, name: str, objective: Objective, plan: Plan) -> None:
        """Minimise an objective; the policy ends with the weights that the plan keeps, averaged."""
        index = len(self.stages)
        self.stages.append(name)
        saved = None if self.checkpoint is None else self.checkpoint.read()
        if saved is not None and saved.stage > index:
            return
        if saved is not None and saved.stage < index:
            saved = None
        with own_draws(self.train.x.device, self.seed):
            self._optimise(name, index, objective, plan, saved)

    def _optimise(self, name: str, index: int, objective: Objective, plan: Plan, saved: Saved | None) -> None:
        parameters = [p for p in self.policy.parameters() if p.requires_grad]
        average = [p.detach().clone() for p in parameters]
        optimiser = torch.optim.AdamW(parameters, lr=plan.learning_rate, weight_decay=plan.weight_decay, fused=True)
        best_state = self._state(parameters, average)
        best, best_epoch, start = math.inf, 0, 0
        if saved is not None:
            saved.restore(self.policy, optimiser, average, best_state)
            best, best_epoch, start, self.history = saved.best, saved.best_epoch, saved.epoch + 1, saved.history
        per_epoch, batch_size = even_batches(len(self.train), plan.batch_size)
        progress = torch.zeros((), device=self.train.x.device)
        done = saved is not None and saved.done
        told = time.monotonic()
        for epoch in range(start, 0 if done else plan.epochs):
            # Seeding each epoch anew makes a resumed run draw what the unbroken one drew.
            torch.manual_seed(hash_seed(self.seed, index, epoch))
            self.policy.train()
            total = torch.zeros((), device=self.train.x.device)
            for b, (whole, weight) in enumerate(shuffled(self.train, per_epoch, batch_size)):
                rows = self.prepare(whole)
                fraction = (epoch * per_epoch + b) / (plan.epochs * per_epoch)
                progress.fill_(fraction)
                for group in optimiser.param_groups:
                    group["lr"] = plan.learning_rate * cosine(fraction)
                loss = objective.loss(rows, weight, progress)
                optimiser.zero_grad(set_to_none=True)
                loss.backward()  # type: ignore[no-untyped-call]
                optimiser.step()
                total += loss.detach()
                update = epoch * per_epoch + b
                keep = min(plan.averaging, (1 + update) / (10 + update))
                torch._foreach_lerp_(average, [p.detach() for p in parameters], 1 - keep)
                if self.report is not None and time.monotonic() - told > SECONDS_UNTOLD:
                    told = time.monotonic()
                    self.report(Progress(name, epoch, plan.epochs, fraction, best))
            validation = self._validate(objective, parameters, average)
            if validation < best or not plan.keep_best:
                best, best_epoch = validation, epoch
                best_state = self._state(parameters, average)
            self.history.append(
                {"stage": name, "epoch": epoch, "loss": float(total) / per_epoch, "validation_loss": validation}
            )
            done = plan.patience is not None and epoch - best_epoch >= plan.patience
            done = done or epoch == plan.epochs - 1
            if self.checkpoint is not None:
                self.checkpoint.write(
                    Saved.of(
                        self.policy, optimiser, average, best_state, index, epoch, best, best_epoch, done, self.history
                    )
                )
            if self.report is not None:
                told = time.monotonic()
                self.report(Progress(name, epoch, plan.epochs, (epoch + 1) / plan.epochs, best))
            if done:
                break
        self.policy.load_state_dict(best_state)
        self.policy.eval()

    def _state(self, parameters: list[nn.Parameter], average: list[Tensor]) -> dict[str, Tensor]:
        """A copy of the policy's state with the averaged weights in place."""
        with swapped(parameters, average):
            return {k: v.detach().clone() for k, v in self.policy.state_dict().items()}

    def _validate(self, objective: Objective, parameters: list[nn.Parameter], average: list[Tensor]) -> float:
        self.policy.eval()
        with torch.no_grad(), swapped(parameters, average):
            return float(objective.validate(self.val))


def cosine(fraction: float) -> float:
    """From 1 to 0 along half a cosine: the learning rate ends low."""
    return 0.5 * (1 + math.cos(math.pi * fraction))


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


def shuffled(rows: Rows, count: int, size: int) -> Iterator[tuple[Rows, Tensor]]:
    """An epoch of `count` batches of exactly `size` rows, with weight 0 for the padding of the last one."""
    n = len(rows)
    order = torch.randperm(n, device=rows.x.device)
    padded = torch.cat([order, order[: count * size - n]])
    weight = (torch.arange(count * size, device=order.device) < n).to(rows.x.dtype)
    for start in range(0, count * size, size):
        yield rows.take(padded[start : start + size]), weight[start : start + size]


@contextmanager
def swapped(parameters: list[nn.Parameter], others: list[Tensor]) -> Iterator[None]:
    """Run with other values in place of the parameters."""
    places: list[Tensor] = list(parameters)
    own = [p.detach().clone() for p in parameters]
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


@contextmanager
def evaluating(module: nn.Module) -> Iterator[None]:
    """Run a module as it will be used, without dropout, and put it back into the mode it was in."""
    before = module.training
    module.eval()
    try:
        yield
    finally:
        module.train(before)


@contextmanager
def threads(count: int | None) -> Iterator[None]:
    """Run with a number of CPU threads; small networks lose time, and repeatability, to a second one."""
    before = torch.get_num_threads()
    if count is not None:
        torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
