"""Progress bars with the time left, drawn on standard error if it is a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from askwise.cli.common import Out, console

if TYPE_CHECKING:
    from askwise.training.loop import Progress as Epoch

SECONDS_BETWEEN_LINES = 30.0
# Methods have other stages, some of them named by a number.
STAGES = {
    "predictor": "learning to predict",
    "value": "learning what answers tell",
    "look-ahead": "trying whether to look ahead",
    "joint": "learning what to ask",
    "model": "learning to imagine answers",
    "q": "learning what to ask",
}


def _bars(out: Out) -> Progress:
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeRemainingColumn(),
        TextColumn("left  {task.fields[note]}"),
        console=console(stderr=True),
        transient=True,
        disable=not out.shows_progress,
    )


class TrainingProgress:
    """Shows a training run epoch by epoch; keeps how long each stage ran, for the notes at the end.

    Bars need a terminal: without one, as under nohup, a line is printed now and then.
    """

    def __init__(self, out: Out, bars: Progress) -> None:
        self._out = out
        self._bars = bars
        self._tasks: dict[str, TaskID] = {}
        self.stages: dict[str, Epoch] = {}
        self._starting = bars.add_task("Getting ready", total=None, note="")
        self._told = time.monotonic()

    def __call__(self, now: Epoch) -> None:
        self._tell_if_resumed(now)
        self._tell_now_and_then(now)
        self._bars.update(self._starting, visible=False)
        if now.stage not in self._tasks:
            for task in self._tasks.values():
                self._bars.update(task, visible=False)
            self._tasks[now.stage] = self._bars.add_task(STAGES.get(now.stage, now.stage), total=now.epochs, note="")
        self.stages[now.stage] = now
        self._bars.update(self._tasks[now.stage], completed=now.fraction * now.epochs, note=f"best loss {now.best:.4g}")

    def _tell_if_resumed(self, now: Epoch) -> None:
        """Print where a run goes on that was stopped: the first epoch that is reported is not the first."""
        if not self.stages and now.epoch > 0:
            self._out.note(f"Going on from the checkpoint: {_stage_and_epoch(now)}")

    def _tell_now_and_then(self, now: Epoch) -> None:
        if not sys.stderr.isatty() and time.monotonic() - self._told >= SECONDS_BETWEEN_LINES:
            self._told = time.monotonic()
            self._out.note(f"{_stage_and_epoch(now)}, best loss {now.best:.4g}")

    @property
    def stopped_early(self) -> list[str]:
        """One sentence for each stage that ended before its last epoch."""
        return [
            f"{STAGES.get(s, s)}: stopped early, after {e.epoch + 1} of {e.epochs} epochs, as it got no better"
            for s, e in self.stages.items()
            if e.epoch + 1 < e.epochs
        ]


def _stage_and_epoch(now: Epoch) -> str:
    return f"{STAGES.get(now.stage, now.stage)}, epoch {now.epoch + 1} of {now.epochs}"


@contextmanager
def training_progress(out: Out) -> Iterator[TrainingProgress]:
    """Show a bar for each stage of training."""
    with _bars(out) as bars:
        yield TrainingProgress(out, bars)


@contextmanager
def fraction_progress(out: Out, what: str) -> Iterator[Callable[[float], None]]:
    """Show a bar for work that reports which fraction of it is done."""
    with _bars(out) as bars:
        task = bars.add_task(what, total=1.0, note="")
        yield lambda fraction: bars.update(task, completed=fraction)


@contextmanager
def rows_progress(out: Out, what: str) -> Iterator[Callable[[float, int], None]]:
    """Show a bar for work on rows that reports which fraction is done, and how many rows; with rows a second."""
    start = time.perf_counter()
    with _bars(out) as bars:
        task = bars.add_task(what, total=1.0, note="")

        def report(fraction: float, n_rows: int) -> None:
            speed = n_rows / max(time.perf_counter() - start, 1e-9)
            bars.update(task, completed=fraction, note=f"{n_rows:,} rows, {speed:,.0f} a second")

        yield report


@contextmanager
def busy(out: Out, what: str) -> Iterator[None]:
    """Show a spinner for work that does not report how much of it is done."""
    columns = SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn()
    with Progress(*columns, console=console(stderr=True), transient=True, disable=not out.shows_progress) as bars:
        bars.add_task(what, total=None)
        yield
