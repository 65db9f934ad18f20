"""Work in several processes: how far each is, reported from one place, and which process handles Ctrl-C."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from askwise.training.loop import Progress

REPORT_SECONDS = 0.5
# Most methods train in as many stages: what a progress bar needs to know.
STAGES = 3


class SharedProgress:
    """The fraction done of every piece of work, in a small file that all processes share."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fractions = np.memmap(path, dtype=np.float64, mode="r+")

    @classmethod
    def create(cls, path: Path, count: int) -> SharedProgress:
        np.zeros(count).tofile(path)
        return cls(path)

    def set(self, index: int, fraction: float) -> None:
        self._fractions[index] = fraction

    def weighted(self, effort: np.ndarray[Any, Any]) -> float:
        """The fraction done of all the work, whose pieces take these efforts."""
        return float(np.array(self._fractions) @ effort / effort.sum())


@contextmanager
def report_regularly(progress: Callable[[float], None] | None, fraction: Callable[[], float]) -> Iterator[None]:
    """Call progress with the fraction done twice a second, from a thread of its own, while the block runs."""
    if progress is None:
        yield
        return
    ended = threading.Event()

    def report() -> None:
        while not ended.wait(REPORT_SECONDS):
            progress(fraction())

    thread = threading.Thread(target=report, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def fraction_of_stages(progress: Callable[[float], None]) -> Callable[[Progress], None]:
    """A callback for `fit` that turns the progress of single stages into the fraction of the whole training."""
    stages: dict[str, None] = {}

    def report(now: Progress) -> None:
        stages[now.stage] = None
        progress(min(1.0, (len(stages) - 1 + now.fraction) / STAGES))

    return report


def ignore_interrupts_in_workers(first: int) -> None:
    """Ignore Ctrl-C in all processes but the first: a terminal sends it to all, and the first one ends the others."""
    if os.getpid() != first and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
