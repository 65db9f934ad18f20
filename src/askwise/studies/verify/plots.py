"""The picture of a verification: estimated against exact information, one panel a task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from askwise.report.plots.style import BLUE, INK, ORANGE, diagonal, new_figure, panel_words
from askwise.studies.verify.trials import Outcome, summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

MOST_COLUMNS = 4
PANEL = 2.9
KINDS = {False: ("open, but not asked", BLUE), True: ("asked", ORANGE)}
WORDS = {"classification": "nats", "regression": "share of the variance"}


def estimated_against_exact(outcomes: Sequence[Outcome]) -> Figure:
    """A sample of the estimates of every task, from the trials with the most rows, with the mean error of each."""
    rows = max(outcome.trial.rows for outcome in outcomes)
    largest = [outcome for outcome in outcomes if outcome.trial.rows == rows]
    errors = summary(largest).set_index("task")["error_chosen"]
    columns = min(MOST_COLUMNS, len(errors))
    lines = -(-len(errors) // columns)
    figure = new_figure(max(PANEL * columns, 4.4), (PANEL + 0.25) * lines + 0.75)
    title = ["Estimated against exact information,", f"after training on {rows:,} rows"]
    in_lines = (" " if columns > 2 else "\n").join(title)
    figure.suptitle(in_lines, x=0.01, ha="left", fontsize=12, fontweight="bold", color=INK)
    for i, (task, error) in enumerate(errors.items()):
        ax = figure.add_subplot(lines, columns, i + 1)
        mine = [outcome for outcome in largest if outcome.trial.task == task]
        ideal = _draw(ax, pd.concat([outcome.pairs for outcome in mine]))
        x, y = f"exact ({WORDS[mine[0].kind]})", "estimated" if i % columns == 0 else ""
        panel_words(ax, str(task), x, y, beside=f"error, asked: {error:.3f}", size=10)
    _legend(figure, ideal)
    return figure


def _draw(ax: Axes, pairs: pd.DataFrame) -> Line2D:
    """Both kinds of points on equal axes, those asked on top, and the line where they should lie."""
    most = 1.05 * float(pairs[["estimated", "exact"]].to_numpy().max())
    for chosen, (_, colour) in KINDS.items():
        part = pairs[pairs["chosen"] == chosen]
        style: dict[str, Any] = {"s": 9, "color": colour, "alpha": 0.4, "linewidths": 0, "zorder": 3}
        ax.scatter(part["exact"], part["estimated"], **style)
    least = min(0.0, float(pairs["estimated"].min()))
    ax.set_xlim(-0.03 * most, most)
    ax.set_ylim(1.05 * least - 0.03 * most, most)
    ax.locator_params(nbins=5)
    return diagonal(ax, 0.0, most)


def _legend(figure: Figure, ideal: Line2D) -> None:
    from matplotlib.lines import Line2D

    spot: dict[str, Any] = {"linestyle": "", "marker": "o", "markersize": 5}
    marks = [Line2D([], [], color=colour, **spot) for _, colour in KINDS.values()]
    names = [name for name, _ in KINDS.values()]
    figure.legend(
        [*marks, ideal], [*names, "no error"], loc="outside lower left", ncols=3, frameon=False, fontsize=9,
    )  # fmt: skip
