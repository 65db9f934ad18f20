"""The picture of one image: what was asked of it, what each patch was worth, and how the prediction moved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from askwise.evaluation.image_cases import ImageCase
from askwise.report.plots.patches import (
    HEAT,
    colour_bar,
    draw_patches,
    end_of,
    patch_legend,
    patch_rectangle,
    verdict_of,
)
from askwise.report.plots.style import (
    CATEGORIES,
    ORANGE,
    SOFT,
    new_figure,
    number_text,
    panel_words,
    plain,
    set_panel_title,
    without_ticks,
    wrapped,
)
from askwise.session.replies import in_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import SubplotSpec


MOMENTS = 3
MOST_LINES = 5
MARKERS = "osD^v"
MOST_MARKERS = 25
# Letters in a line below a panel, at most.
LONGEST_LINE = 60


def draw_case(case: ImageCase, truth: Any = None, name: str = "") -> Figure:
    """The picture of a case from its numbers; truth: a label as the model writes it, or a number."""
    width = 4.7 * float(np.clip(case.layout.width / case.layout.height, 0.5, 1))
    words = patch_legend([case]) + ["crossed: can't be had"] * bool(case.absent.any())
    below = "\n".join(wrapped(line, 0.85 * width, 9) for line in (*words, end_of(name)) if line)
    figure = new_figure(width + 5.9, 4.9 + 0.15 * max(0, below.count("\n") - 2))
    grid = figure.add_gridspec(2, 2, width_ratios=[width, 6])
    ax = figure.add_subplot(grid[:, 0])
    draw_patches(ax, case, 3.9)
    ax.set_anchor("NW")
    set_panel_title(ax, "What was asked, in this order", 9.5, bold=False)
    ax.set_xlabel(below, fontsize=9, color=SOFT, loc="left")
    _draw_values(figure, grid[0, 1], case)
    _draw_answers(figure.add_subplot(grid[1, 1]), case, truth)
    n = len(case.asked)
    spent = "" if case.spent == n else f" for {number_text(case.spent)}"
    said, colour = verdict_of(case.labels, case.answers[-1], truth, sure=True)
    title = f"{n} of {case.layout.n_patches} patches{spent}: {said}"
    figure.suptitle(title, x=0.004, ha="left", fontsize=12, fontweight="bold", color=colour)
    return figure


def _draw_values(figure: Figure, place: SubplotSpec, case: ImageCase) -> None:
    """The estimate for every open patch at some moments, in the same colours; a ring is around what is asked next."""
    from matplotlib.colors import PowerNorm

    n = len(case.asked)
    moments = sorted({0, -(-n // MOMENTS), n})
    shown = case.values[moments]
    finite = shown[np.isfinite(shown)]
    # Information is never negative; what is only an order may be.
    low = 0.0 if case.unit else float(finite.min(initial=0.0))
    high = max(float(finite.max(initial=low)), low + 1e-9)
    if any(values.max() == high <= 2 * values.min() for one in shown if len(values := one[np.isfinite(one)])):
        # A map of values much alike, the largest of all, would be dark all over.
        high *= 2
    # The first answers take most of what is to be known: in even colours all later maps would be pale.
    norm = PowerNorm(0.5, low, high, clip=True)
    grid = place.subgridspec(1, MOMENTS)
    axes = [figure.add_subplot(grid[0, i]) for i in range(MOMENTS)]
    for ax in axes[len(moments) :]:
        ax.set_axis_off()
    for ax, moment, values in zip(axes, moments, shown, strict=False):
        drawn = ax.imshow(np.ma.masked_invalid(values), cmap=HEAT, norm=norm)
        hatched: dict[str, Any] = {"facecolor": "white", "edgecolor": SOFT, "hatch": "////", "linewidth": 0}
        for patch in np.flatnonzero(np.isnan(values)).tolist():
            ax.add_patch(patch_rectangle(case.layout, patch, 1, **hatched))
        if moment < n:
            ring: dict[str, Any] = {"fill": False, "edgecolor": ORANGE, "linewidth": 2, "zorder": 4}
            ax.add_patch(patch_rectangle(case.layout, case.asked[moment], 1, **ring))
        when = f"after {moment}" if moment else "before asking"
        set_panel_title(ax, when + (", at the stop" if moment == n else ""), 9.5, bold=False)
        if np.isfinite(values).any():
            ax.set_xlabel(f"at most {number_text(float(f'{np.nanmax(values):.2g}'))}", fontsize=9, color=SOFT)
        without_ticks(ax)
    colour_bar(figure, drawn, axes, f"information\nin {case.unit}" if case.unit else "score\n(an order only)")


def _draw_answers(ax: Axes, case: ImageCase, truth: Any) -> None:
    """The prediction after each patch, up to the stop, and why it stopped there."""
    from matplotlib.ticker import MaxNLocator

    words = "probability"
    if case.labels is not None:
        _draw_probabilities(ax, case, case.labels, truth)
    else:
        ax.plot(case.answers[:, 0], **_line(case, 0))
        words = "prediction"
        if truth is not None:
            ax.axhline(float(truth), color=ORANGE, linewidth=1.4, linestyle="--")
            words = "prediction (dashed: true)"
    why = in_words(case.reason)
    by = f"stopped by {plain(case.rule, LONGEST_LINE - 12)}:" if case.rule else "stopped:"
    stopped = f"{by} {why}" if len(f"{by} {why}") <= LONGEST_LINE else f"{by}\n{why}"
    panel_words(ax, "", f"patches asked\n{stopped}", words, size=10)
    ax.axvline(len(case.asked), color=SOFT, linewidth=1, linestyle=(0, (1, 2)), zorder=1)
    ax.set_xlim(-0.02 * len(case.asked), max(1, 1.02 * len(case.asked)))
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    set_panel_title(ax, "How the prediction moved", 9.5, bold=False)


def _line(case: ImageCase, place: int) -> dict[str, Any]:
    """The look of a line: its colour, and markers that stay apart on a long way."""
    every = -(-len(case.answers) // MOST_MARKERS)
    style: dict[str, Any] = {"color": CATEGORIES[place], "marker": MARKERS[place], "markevery": every}
    return style | {"markersize": 4, "linewidth": 1.6}


def _draw_probabilities(ax: Axes, case: ImageCase, labels: tuple[Any, ...], truth: Any) -> None:
    """A line for the true label, the one that is said, and those that were likeliest on the way."""
    last, highest = case.answers[-1], case.answers.max(0)
    kept = sorted(range(len(last)), key=lambda i: (labels[i] != truth, i != last.argmax(), -highest[i]))[:MOST_LINES]
    for place, i in enumerate(sorted(kept, key=lambda i: -last[i])):
        is_true = truth is not None and labels[i] == truth
        label = f"{plain(labels[i], 18)}{' (true)' if is_true else ''}: {last[i]:.0%}"
        ax.plot(case.answers[:, i], label=label, clip_on=False, zorder=3, **_line(case, place))
    ax.set_ylim(0, 1)
    some = f"\n({len(kept)} of {len(last)} labels)" if len(kept) < len(last) else ""
    ax.legend(
        loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize=9, title=f"In the end{some}",
        title_fontsize=9, alignment="left", handlelength=1.4,
    )  # fmt: skip
