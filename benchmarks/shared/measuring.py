"""Measuring: CPU seconds, the stages and epochs of a training, and the peak of memory."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import torch

T = TypeVar("T")


def cpu_seconds(work: Callable[[], T]) -> tuple[T, float]:
    """The result of some work and the CPU seconds, of all threads, that it took."""
    start = time.process_time()
    result = work()
    return result, time.process_time() - start


def wall_seconds(work: Callable[[], T]) -> tuple[T, float]:
    """The result of some work and the seconds that it took."""
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start


def least_cpu_seconds(*works: Callable[[], Any], repeats: int) -> list[float]:
    """The least CPU seconds of each work, run in turns: what else the machine does then slows all of them alike."""
    for work in works:
        work()
    return np.min([[cpu_seconds(work)[1] for work in works] for _ in range(repeats)], axis=0).tolist()


def wait_for_gpu() -> None:
    """A GPU may still be at work on what it was told."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def peak_mib() -> float:
    """The most memory that this process has had in use."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


class Clock:
    """A progress callback that notes when each epoch of each stage ends, by a clock of the wall or of the CPU."""

    def __init__(self, now: Callable[[], float] = time.perf_counter) -> None:
        self.now = now
        self.start = now()
        self.ends: dict[str, dict[int, float]] = {}

    def __call__(self, progress: Any) -> None:
        self.ends.setdefault(progress.stage, {})[progress.epoch] = self.now()

    def epochs(self, stage: str) -> list[float]:
        """Seconds of each epoch, its validation included; the first, which also sets things up, is left out."""
        return np.diff([self.ends[stage][epoch] for epoch in sorted(self.ends[stage])]).tolist()

    def stage_ends(self) -> dict[str, float]:
        """Seconds from the start to the end of each stage."""
        return {stage: round(max(ends.values()) - self.start, 1) for stage, ends in self.ends.items()}
