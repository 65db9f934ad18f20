"""The picture of docs/performance.md, from what speed/mnist_gpu.py and speed/inference.py have written."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from askwise.report.plots.style import BLUE, DPI, INK, ORANGE, PALE, SOFT
from benchmarks.shared.options import OUT, Options
from benchmarks.speed import inference, mnist_gpu

Bars = list[tuple[str, float, str]]


def read(folder: Path, name: str) -> dict[str, Any]:
    return json.loads((folder / f"{name}.json").read_text())


def mnist(axes: Axes, data: dict[str, Any]) -> None:
    """Accuracy at under ten features on average against seconds of training: every seed, and the mean of each run."""
    seconds, accuracy = data["columns"].index("s in all"), data["columns"].index("%")
    for row in data["rows"]:
        axes.plot(row[seconds], row[accuracy], "o", color=PALE, ms=6, zorder=2)
    for run, _, *numbers in data["means"]:
        x, y = numbers[seconds - 2], numbers[accuracy - 2]
        axes.plot(x, y, "o", color=BLUE, ms=8, zorder=3)
        axes.annotate(f"{run}\n{y:.1f} % in {x:.0f} s", (x, y), (10, -24), textcoords="offset points", color=INK)
    axes.set(xlim=(0, 78), ylim=(92.6, 94.6), xlabel="seconds of training, all included", ylabel="accuracy in %")
    axes.set_title("MNIST, 9.9 of 784 pixels on average, one H200", loc="left", fontsize=10)
    axes.grid(color=PALE, lw=0.6)


def bars(axes: Axes, title: str, unit: str, values: Bars) -> None:
    """One bar each, the first on top, with its figure beside it."""
    for place, (label, value, colour) in enumerate(values):
        axes.barh(-place, value, color=colour, height=0.5)
        axes.text(value, -place, f"  {value:.3g} {unit}", va="center", color=INK, fontsize=9)
        axes.text(
            0, -place + 0.28, f" {label}", va="bottom", color=SOFT, fontsize=8, transform=axes.get_yaxis_transform()
        )
    axes.set_xlim(0, max(value for _, value, _ in values) * 1.25)
    axes.set_ylim(-len(values) + 0.45, 0.85)
    axes.set_yticks([])
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="x", labelsize=8)
    axes.set_title(title, loc="left", fontsize=10)


def draw(gpu: dict[str, Any], rollouts: dict[str, Any], path: Path) -> None:
    """Accuracy against seconds of training, a joint epoch, a rollout, and a session's step."""
    figure = Figure(figsize=(11, 6.4), layout="constrained")
    panels = figure.subplots(2, 2)
    mnist(panels[0, 0], gpu)
    _, (_, plain, _), (_, ours, _) = gpu["speed"]
    bars(
        panels[0, 1],
        "A joint epoch of MNIST, networks and steps of the paper, one H200",
        "s",
        [("a plain loop of algorithm 1", plain, ORANGE), ("askwise", ours, BLUE)],
    )
    (floor,) = rollouts["floor"]["rows"]
    shared = next(row for row in rollouts["rows"] if row[0] == "MNIST, shared")
    bars(
        panels[1, 0],
        "Ten questions of a row of MNIST, one CPU core",
        "µs",
        [
            ("every step anew, in float64", shared[3], ORANGE),
            ("askwise", floor[1], BLUE),
            ("the products alone", floor[2], PALE),
        ],
    )
    sessions = rollouts["sessions"]["rows"]
    names = {"digits, separate": "64 groups, hidden 128", "MNIST, separate": "784 groups, hidden 512"}
    steps = [(names[row[0]], row[4], BLUE) for row in sessions if row[0] in names and row[2].startswith("budget")]
    bars(panels[1, 1], "A session's step: ask and tell, one CPU core", "µs", steps)
    figure.savefig(path, dpi=DPI)


def main(argv: Sequence[str] | None = None) -> None:
    options = Options(__doc__)
    options.add("--results", type=Path, default=OUT, smoke=None, help="folder that both have written to")
    options.add_written("--figure", Path("docs/images/performance.png"))
    args = options.read(argv)
    if args.results is None:
        args.results = args.out
        for script in (mnist_gpu, inference):
            script.main(["--smoke", "--out", str(args.out)])
    draw(read(args.results, "mnist_gpu"), read(args.results, "inference"), args.figure)


if __name__ == "__main__":
    main()
