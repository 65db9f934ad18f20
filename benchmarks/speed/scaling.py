"""Time and memory against rows, groups, classes and steps: synthetic tables, one thread, each varied alone."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from askwise import Budget, DimeClassifier
from askwise.core.policy import Policy
from askwise.core.rows import Rows
from askwise.core.tasks import Task
from askwise.training.loop import Training
from askwise.training.modes import threads
from benchmarks.shared.measuring import Clock, cpu_seconds, peak_mib
from benchmarks.shared.options import ROOT, Options
from benchmarks.shared.results import Table, write_results

MIB = 2**20
EPOCHS, REPEATS = 3, 4


@dataclass(frozen=True)
class Size:
    """How large a task is."""

    rows: int = 4000
    groups: int = 32
    classes: int = 4
    steps: int = 16


BASE = Size()
VARIED = {
    "rows": (2000, 4000, 8000, 16_000),
    "groups": (16, 32, 64, 128),
    "classes": (2, 4, 8, 16),
    "steps": (4, 8, 16, 32),
}
SMALL_BASE = Size(rows=200, groups=4, classes=2, steps=2)
SMALL = {"rows": (200, 300), "groups": (4, 6), "classes": (2, 3), "steps": (2, 3)}
# What is measured, and how it is called in the picture.
MEASURED = {
    "joint epoch, CPU s": ("a joint epoch of training", "s", "#0072B2", "o"),
    "rollout, µs a row": ("a row's rollout", "µs", "#E69F00", "s"),
    "training, MiB": ("memory of training, beyond the data", "MiB", "#009E73", "^"),
}


def make(size: Size) -> tuple[np.ndarray, np.ndarray]:
    """A table of normal columns; the class of a row is the one of some random directions that it goes furthest in."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((size.rows, size.groups), dtype=np.float32)
    y = (x @ rng.standard_normal((size.groups, size.classes), dtype=np.float32)).argmax(1)
    return x, y


def reset_peak() -> None:
    """Have Linux note the peak of memory anew, from what is in use now."""
    Path("/proc/self/clear_refs").write_text("5")


class Measured(DimeClassifier):
    """A classifier that notes what its training takes beyond the rows, which are there before."""

    def train(self, policy: Policy, training: Training, task: Task) -> None:
        reset_peak()
        before = peak_mib()
        super().train(policy, training, task)
        # At least a kilobyte: the figure is drawn on a logarithmic scale.
        self.training_mib_ = max(peak_mib() - before, 1 / 1024)
        self.data_mib_ = sum(part.nbytes for rows in (training.train, training.val) for part in rows.parts) / MIB


def measure(size: Size) -> dict[str, float]:
    """The figures of one size; in a process of its own, or an earlier peak of memory would hide this one."""
    # A little of everything before: what libraries keep for themselves from their first use on is not training's.
    fit(replace(size, rows=200, steps=1), epochs=1)
    model, epoch = fit(size, epochs=EPOCHS)
    rows = model.encode(make(size)[0])
    with threads(1):
        rollouts = [cpu_seconds(lambda: roll(model, rows, size))[1] for _ in range(REPEATS)]
    micros = 1e6 * min(rollouts) / size.rows
    return {**dict(zip(MEASURED, (epoch, micros, model.training_mib_), strict=True)), "data, MiB": model.data_mib_}


def measure_apart(size: Size) -> dict[str, float]:
    """The same, in such a process."""
    command = [sys.executable, "-m", "benchmarks.speed.scaling", "--only", json.dumps(asdict(size))]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True, cwd=ROOT).stdout)


def fit(size: Size, epochs: int) -> tuple[Measured, float]:
    """A model, and the least CPU seconds of a joint epoch, its validation included, the first left out."""
    clock = Clock(time.process_time)
    # Batches of one size throughout: by default they grow with small tables.
    fixed = {"batch_size": 256, "dropout": 0.2, "patience": epochs, "random_state": 0, "device": "cpu"}
    model = Measured(max_steps=size.steps, pretrain_epochs=1, epochs=epochs, **fixed)
    model.fit(*make(size), progress=clock)
    return model, min(clock.epochs("joint"), default=0.0)


def roll(model: Measured, rows: Rows, size: Size) -> None:
    model.model_.acquire(rows, Budget(size.steps))


def slope(x: pd.Series, y: pd.Series) -> float:
    """Of a line through the logarithms: 1 where twice as much takes twice as much."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def draw(frames: dict[str, pd.DataFrame], base_size: Size, path: Path) -> None:
    """A panel for each thing varied: everything in multiples of what the base takes."""
    figure = Figure(figsize=(11, 3.6), layout="constrained")
    panels = figure.subplots(1, len(frames), sharey=True)
    for axes, (varied, frame) in zip(panels, frames.items(), strict=True):
        base = frame[frame[varied] == getattr(base_size, varied)].iloc[0]
        sizes = frame[varied]
        axes.plot(sizes, sizes / base[varied], ":", color="0.5", lw=1.2, label="in proportion")
        for name, (label, unit, colour, marker) in MEASURED.items():
            text = f"{label}: {base[name]:.2g} {unit}" if base[name] < 1 else f"{label}: {base[name]:.0f} {unit}"
            axes.plot(sizes, frame[name] / base[name], marker=marker, color=colour, lw=1.8, ms=5, label=text)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log", base=2)
        axes.set_xticks(sizes, [f"{n:,}" for n in sizes])
        axes.minorticks_off()
        axes.set_xlabel(varied)
        axes.grid(alpha=0.3)
    panels[0].set_yticks([1 / 4, 1 / 2, 1, 2, 4], ["1/4", "1/2", "1", "2", "4"])
    panels[0].set_ylim(0.2, 5)
    panels[0].set_ylabel("times the base")
    rows, groups, classes, steps = asdict(base_size).values()
    title = f"Base: {rows:,} rows, {groups} groups, {classes} classes, {steps} steps, which take"
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(
        handles[1:] + handles[:1], labels[1:] + labels[:1], loc="outside upper center", ncols=4, frameon=False,
        title=title,
    )  # fmt: skip
    figure.savefig(path, dpi=150)


def frames_of(
    base: Size, varied_sizes: dict[str, tuple[int, ...]], args: argparse.Namespace
) -> tuple[Table, dict[str, pd.DataFrame]]:
    """The figures of all sizes in one table, and those of each size that is varied in a frame."""
    sizes = dict.fromkeys(replace(base, **{varied: n}) for varied, values in varied_sizes.items() for n in values)
    table = Table([*asdict(base), *MEASURED, "data, MiB"])
    measured = measure if args.smoke else measure_apart
    # Whatever else the machine does only adds: the least of several passes, each through all sizes, is nearest to ours.
    passes = [{size: measured(size) for size in sizes} for _ in range(args.passes)]
    found = {size: {name: min(p[size][name] for p in passes) for name in passes[0][size]} for size in sizes}
    for size, figures in found.items():
        table.add([*asdict(size).values(), *figures.values()])
    return table, {
        varied: pd.DataFrame([{varied: n, **found[replace(base, **{varied: n})]} for n in values])
        for varied, values in varied_sizes.items()
    }


def main(argv: Sequence[str] | None = None) -> None:
    options = Options(__doc__)
    options.add_argument("--only", type=json.loads, help="JSON of one size, to print the figures of")
    options.add("--passes", type=int, default=2, smoke=1)
    options.add_written("--picture", None, "where to draw all of it", smoke="scaling.png")
    args = options.read(argv)
    if args.only is not None:
        print(json.dumps(measure(Size(**args.only))))
        return
    base = SMALL_BASE if args.smoke else BASE
    table, frames = frames_of(base, SMALL if args.smoke else VARIED, args)
    slopes = Table(["log-log slope in", *MEASURED])
    for varied, frame in frames.items():
        slopes.add([varied, *(slope(frame[varied], frame[name]) for name in MEASURED)])
    print(table, slopes, sep="\n\n")
    write_results(args.out, "scaling", table, slopes=slopes.contents)
    if args.picture is not None:
        draw(frames, base, args.picture)


if __name__ == "__main__":
    main()
