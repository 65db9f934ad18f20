"""Work in several processes: how far each is, told from one place, and who answers Ctrl-C."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

SECONDS_UNTOLD = 0.5


class Done:
    """The fraction done of every piece of work, in a small file that all processes share."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._shared = np.memmap(path, dtype=np.float64, mode="r+")

    @classmethod
    def create(cls, path: Path, count: int) -> Done:
        np.zeros(count).tofile(path)
        return cls(path)

    def tell(self, index: int, fraction: float) -> None:
        self._shared[index] = fraction

    def fractions(self) -> np.ndarray[Any, Any]:
        return np.array(self._shared)


@contextmanager
def telling(progress: Callable[[float], None] | None, look: Callable[[], float]) -> Iterator[None]:
    """Tell the fraction done twice a second, from a thread of its own, while the block runs."""
    if progress is None:
        yield
        return
    ended = threading.Event()

    def tell() -> None:
        while not ended.wait(SECONDS_UNTOLD):
            progress(look())

    thread = threading.Thread(target=tell, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def leave_interrupts_to(first: int) -> None:
    """Ignore Ctrl-C in all processes but the first: it reaches all of a terminal, and the first one ends the others."""
    if os.getpid() != first and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
