"""What a batch changes: losses, gradients, optimiser and running mean of the weights."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor, nn

from askwise.core.rows import Rows

# Of a network with convolutions, for bfloat16 to pay on a CPU.
FEWEST_WEIGHTS = 300_000


class Objective(Protocol):
    """What a method wants minimised.

    One that remembers something from batch to batch is a module, and remembers it in buffers: they are saved with each
    epoch, so that a run that was killed goes on as if it had not been.
    """

    def losses(self, rows: Rows, weight: Tensor, progress: Tensor) -> Iterator[Tensor]:
        """The losses of a batch, one for each time the weights are to change, which they do between two of them.

        weight (batch,) is 0 for padding, progress a scalar in [0, 1) of the stage. No branch on data, and nothing
        read back: on a GPU all of it is recorded once and replayed.
        """
        ...

    def validate(self, rows: Rows) -> Tensor:
        """The number early stopping looks at, lower is better; called without gradients, in evaluation mode."""
        ...


@dataclass(frozen=True)
class Plan:
    """How long and how fast a stage trains.

    patience: epochs without improvement after which it stops. averaging: the decay of the running mean of the weights.
    warm_up: the share of the stage in which the learning rate rises.
    keep_best: end with the weights that validated best; else with the last ones, where validation is mostly noise.
    """

    epochs: int
    batch_size: int
    learning_rate: float = 2e-3
    weight_decay: float = 0.05
    patience: int | None = None
    averaging: float = 0.99
    warm_up: float = 0.0
    keep_best: bool = True


class Update:
    """Learns from a batch. Everything that changes from batch to batch is a tensor, so that it can be recorded.

    `prepare` changes each batch before it is learnt from. `total` adds up the batches' mean losses.
    """

    def __init__(
        self,
        policy: nn.Module,
        objective: Objective,
        plan: Plan,
        n_batches: int,
        prepare: Callable[[Rows], Rows],
        device: torch.device,
    ) -> None:
        self.policy = policy
        self.objective = objective
        self.plan = plan
        self.n_batches = n_batches
        self.prepare = prepare
        self.device = device
        self.reduced = use_bfloat16(policy, device)
        self.parameters = [p for p in policy.parameters() if p.requires_grad]
        # What is averaged: weights, and the running statistics that belong to them.
        self.averaged: list[Tensor] = [p.detach() for p in self.parameters] + running_statistics(policy)
        self.average = [tensor.clone() for tensor in self.averaged]
        self.rate = torch.tensor(plan.learning_rate, device=device)
        self.optimiser = torch.optim.AdamW(
            self.parameters, self.rate, weight_decay=plan.weight_decay, fused=True, capturable=device.type == "cuda"
        )
        self.done = torch.zeros((), device=device)
        self.total = torch.zeros((), device=device)

    def tensors(self) -> dict[str, Tensor]:
        """Everything that learning changes, by name."""
        found = {f"policy.{k}": v for k, v in self.policy.state_dict().items()}
        if isinstance(self.objective, nn.Module):
            found |= {f"objective.{k}": v for k, v in self.objective.state_dict().items()}
        found |= {f"average.{i}": v for i, v in enumerate(self.average)}
        for i, state in self.optimiser.state_dict()["state"].items():
            found |= {f"optimiser.{i}.{k}": torch.as_tensor(v) for k, v in state.items()}
        return found

    def load(self, tensors: dict[str, Tensor], n_done: int) -> None:
        """Restore what `tensors` gave, after so many batches of the stage."""
        self.policy.load_state_dict(part_of(tensors, "policy"))
        if isinstance(self.objective, nn.Module):
            self.objective.load_state_dict(part_of(tensors, "objective"))
        for i, tensor in part_of(tensors, "average").items():
            self.average[int(i)].copy_(tensor)
        self._load_optimiser(part_of(tensors, "optimiser"))
        self.done.fill_(n_done)

    def _load_optimiser(self, tensors: dict[str, Tensor]) -> None:
        state: dict[int, dict[str, Tensor]] = {}
        for key, tensor in tensors.items():
            i, name = key.split(".", 1)
            state.setdefault(int(i), {})[name] = tensor
        self.optimiser.load_state_dict({**self.optimiser.state_dict(), "state": state})
        for group in self.optimiser.param_groups:
            group["lr"] = self.rate
        # The fused step reads the memory of weights and of its state alike; files hold a state channels first.
        for weight, moments in self.optimiser.state.items():
            for name, value in moments.items():
                if value.shape == weight.shape:
                    moments[name] = torch.empty_like(weight).copy_(value)

    def __call__(self, rows: Rows, weight: Tensor) -> None:
        progress = self.done / self.n_batches
        self.rate.copy_(self.plan.learning_rate * warm_up_factor(progress, self.plan.warm_up) * cosine(progress))
        losses = self.objective.losses(self.prepare(rows), weight, progress)
        found = []
        while (loss := self._next(losses)) is not None:
            self.optimiser.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            self.optimiser.step()
            change = 1 - ((1 + self.done) / (10 + self.done)).clamp_max(self.plan.averaging)
            torch._foreach_lerp_(self.average, self.averaged, [change] * len(self.averaged))
            found.append(loss.detach())
        self.total += torch.stack(found).mean()
        self.done += 1

    def _next(self, losses: Iterator[Tensor]) -> Tensor | None:
        with self.precision():
            return next(losses, None)

    def precision(self) -> AbstractContextManager[None]:
        """Products in bfloat16, sums and losses in float32; or, where that does not pay, all as it always is."""
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self.reduced)


def part_of(tensors: dict[str, Tensor], name: str) -> dict[str, Tensor]:
    """The tensors whose names begin with `name`, by the rest of their names."""
    return {key.removeprefix(f"{name}."): value for key, value in tensors.items() if key.startswith(f"{name}.")}


def batch_norms(policy: nn.Module) -> list[nn.modules.batchnorm._BatchNorm]:
    return [part for part in policy.modules() if isinstance(part, nn.modules.batchnorm._BatchNorm)]


def running_statistics(policy: nn.Module) -> list[Tensor]:
    """Means and variances that batch norms keep; they learn while a loss is computed, not by its gradient."""
    learning = [norm for norm in batch_norms(policy) if norm.weight is None or norm.weight.requires_grad]
    kept = [statistic for norm in learning for statistic in (norm.running_mean, norm.running_var)]
    return [statistic for statistic in kept if statistic is not None]


def warm_up_factor(progress: Tensor, warm_up: float) -> Tensor:
    """From near 0 to 1 over the first share of a stage; 1 from the start where there is none."""
    return ((progress + 1e-3) / warm_up).clamp_max(1) if warm_up > 0 else torch.ones_like(progress)


def cosine(progress: Tensor) -> Tensor:
    """From 1 to 0 along half a cosine: the learning rate ends low."""
    return 0.5 * (1 + (math.pi * progress).cos())


def use_bfloat16(policy: nn.Module, device: torch.device) -> bool:
    """Whether products are faster in bfloat16: on a GPU, and on a CPU that has them, of large convolutions.

    What small ones gain in their products they lose in rounding their inputs (benchmarks/speed/image_cpu.py).
    """
    if device.type != "cpu":
        return True
    convolves = any(isinstance(part, nn.Conv2d) for part in policy.modules())
    return convolves and sum(p.numel() for p in policy.parameters()) >= FEWEST_WEIGHTS and cpu_has_bfloat16()


def cpu_has_bfloat16() -> bool:
    """Whether this CPU multiplies bfloat16 itself; an older torch can't tell."""
    able: dict[str, bool] = getattr(torch.cpu, "get_capabilities", dict)()
    return bool(able.get("avx512_bf16") or able.get("amx_bf16"))


@contextmanager
def without_gradients() -> Iterator[None]:
    """Compute without gradients inside a loss that has them."""
    with torch.no_grad():
        yield
    # Autocast keeps weights rounded in here, which have no gradient: they must not be used again outside.
    torch.clear_autocast_cache()
