"""Pictures of image models: what was asked of single images, and how often each patch is asked of many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from askwise.core.arrays import Array
from askwise.core.rows import Rows, evenly
from askwise.core.step import StoppingRule
from askwise.evaluation.image_cases import (
    asked_image,
    image_case,
    image_schema,
    labels_of,
    mean_image,
    patch_shares,
)
from askwise.evaluation.metrics import as_labelled
from askwise.methods.base import Method
from askwise.model.model import Acquisition, Model
from askwise.model.session_model import Costs
from askwise.report.plots.axes import percent_form
from askwise.report.plots.image_case import draw_case
from askwise.report.plots.patches import (
    HEAT,
    SMALLEST,
    colour_bar,
    draw_patches,
    end_of,
    patch_legend,
    verdict_of,
)
from askwise.report.plots.style import INK, SOFT, new_figure, set_panel_title, without_ticks, wrapped

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def case_picture(
    model: Method,
    image: Any,
    stop: StoppingRule | None = None,
    costs: Costs = None,
    truth: Any = None,
    name: str = "",
) -> Figure:
    """One image of an image model: what was asked of it, what each patch was worth, and how the prediction moved.

    image (height, width, channels), as the model takes it. truth: the right answer, where it is known. name: what the
    image is called, such as its file.
    """
    image_schema(model.model_)
    rule = model.stop if stop is None else stop
    case = image_case(model.model_, model.encode([image]), rule, costs)
    return draw_case(case, None if truth is None else as_labelled(model.model_.task, np.array([truth]))[0], name)


def selection_map(model: Method, images: Any, stop: StoppingRule | None = None, costs: Costs = None) -> pd.DataFrame:
    """In which share of the images each patch is asked: a line for each row of patches, counted from 1."""
    image_schema(model.model_)
    return patch_shares(model.model_, model.acquire(images, stop, costs))


def selection_picture(model: Method, images: Any, stop: StoppingRule | None = None, costs: Costs = None) -> Figure:
    """How often each patch is asked, beside the mean of the images."""
    shares = selection_map(model, images, stop, costs)
    return draw_selection(shares, mean_image(model.model_, model.encode(images)))


def examples_picture(
    model: Method,
    images: Any,
    labels: Any = None,
    stop: StoppingRule | None = None,
    n: int = 6,
    costs: Costs = None,
    names: Sequence[str] | None = None,
) -> Figure:
    """A sheet of n of the images with their asked patches numbered, spread evenly from few patches to many.

    names: what each image is called, such as its file; without them it is its row, counted from 0.
    """
    image_schema(model.model_)
    rows, acquired = model.encode(images), model.acquire(images, stop, costs)
    by_number = np.argsort(acquired.n_asked, kind="stable")
    chosen = by_number[evenly(len(by_number), n).numpy()]
    truth = None if labels is None else as_labelled(model.model_.task, np.asarray(labels))
    return draw_examples(model.model_, rows, acquired, chosen.tolist(), truth, names)


def draw_selection(shares: pd.DataFrame, mean: Array) -> Figure:
    """The picture of `selection_map`'s table beside the mean image (height, width, channels)."""
    (n_rows, n_columns), (height, width, _) = shares.shape, mean.shape
    side = 3.9
    figure = new_figure(2 * side + 1.1, side * height / width + 0.5)
    left, right = figure.subplots(1, 2)
    left.imshow(mean if mean.shape[2] == 3 else mean[..., 0], cmap="gray", vmin=0, vmax=255)
    left.hlines(np.arange(1, n_rows) * height / n_rows - 0.5, -0.5, width - 0.5, color="white", linewidth=0.5)
    left.vlines(np.arange(1, n_columns) * width / n_columns - 0.5, -0.5, height - 0.5, color="white", linewidth=0.5)
    high = max(float(shares.to_numpy().max()), 1e-9)
    drawn = right.imshow(shares.to_numpy(), cmap=HEAT, vmin=0, vmax=high)
    size = min(9, 0.38 * 72 * side / n_columns)
    for (row, column), share in np.ndenumerate(shares.to_numpy()):
        if size >= SMALLEST and share >= 0.005:
            colour = "white" if share > 0.6 * high else INK
            right.text(column, row, f"{share:.0%}"[:-1], ha="center", va="center", fontsize=size, color=colour)
    colour_bar(figure, drawn, [right], form=percent_form())
    for ax, words in ((left, "Mean of the images"), (right, "Asked in % of the images")):
        without_ticks(ax)
        set_panel_title(ax, words, 10.5)
    return figure


def draw_examples(
    model: Model,
    rows: Rows,
    acquired: Acquisition,
    which: Sequence[int],
    truth: Array | None = None,
    names: Sequence[str] | None = None,
) -> Figure:
    """The sheet of some images, by their positions in rows, acquired, truth and names."""
    layout, labels = image_schema(model).layout, labels_of(model)
    columns, side = len(which) if len(which) <= 4 else 3, 2.9
    n_lines = -(-len(which) // columns)
    width = side * columns + 0.2
    found = acquired.prediction if acquired.proba is None else acquired.proba
    assert found is not None
    answers = found.reshape(len(rows), -1)
    shown = [asked_image(model, rows.take(slice(i, i + 1)), acquired.order[i]) for i in which]
    title = wrapped("; ".join(["Patches asked, in this order", *patch_legend(shown)]), width, 10)
    above = 0.2 + 0.2 * len(title.splitlines())
    figure = new_figure(width, (side * layout.height / layout.width + 0.6) * n_lines + above)
    for place, i in enumerate(which):
        ax = figure.add_subplot(n_lines, columns, place + 1)
        draw_patches(ax, shown[place], side)
        said, colour = verdict_of(labels, answers[i], None if truth is None else truth[i], 12)
        set_panel_title(ax, said, 10, colour=colour)
        below = f"row {i}" if names is None else end_of(names[i])
        ax.set_xlabel(f"{acquired.n_asked[i]} of {layout.n_patches} patches\n{below}", fontsize=9, color=SOFT)
    figure.suptitle(title, x=0.004, ha="left", fontsize=10, color=SOFT)
    return figure
