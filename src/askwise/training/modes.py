"""Modes to run in: frozen modules, evaluation, averaged weights, a number of threads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from threadpoolctl import threadpool_limits
from torch import Tensor, nn

from askwise.training.update import batch_norms


@contextmanager
def swapped_weights(tensors: list[Tensor], others: list[Tensor]) -> Iterator[None]:
    """Run with the values of other tensors in place of these."""
    own = [tensor.clone() for tensor in tensors]
    with torch.no_grad():
        torch._foreach_copy_(tensors, others)
    try:
        yield
    finally:
        with torch.no_grad():
            torch._foreach_copy_(tensors, own)


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


def set_training_mode(policy: nn.Module) -> None:
    """Put a policy into training mode; batch norms that are frozen keep their statistics too."""
    policy.train()
    for norm in batch_norms(policy):
        if norm.weight is not None and not norm.weight.requires_grad:
            norm.eval()


@contextmanager
def threads(count: int | None) -> Iterator[None]:
    """Run with a number of CPU threads, in torch and in scikit-learn; None: with as many as each has.

    On a busy machine, threads of boosting that wait for each other would take most of the time.
    """
    before = torch.get_num_threads()
    if count is not None:
        torch.set_num_threads(count)
    try:
        with threadpool_limits(count):
            yield
    finally:
        torch.set_num_threads(before)
