"""The picture of a verification shows the sample and the errors of the trials with the most rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from askwise.studies.verify.plots import estimated_against_exact
from askwise.studies.verify.trials import Outcome, Trial


def outcome(task, rows, seed=0, kind="classification"):
    draw = np.random.default_rng(rows + seed)
    exact = draw.random(30)
    pairs = pd.DataFrame({"estimated": exact + draw.normal(0, 0.1, 30), "exact": exact, "chosen": np.arange(30) < 10})
    return Outcome(Trial(task, rows, seed), kind, {"error_chosen": 10 / rows + seed}, pd.DataFrame(), pairs, 1.0)


def panels(figure):
    """Title, error and points, (others, asked), of every panel, after it was really drawn."""
    figure.canvas.draw()
    return [
        (ax.get_title("left"), ax.get_title("right"), [c.get_offsets() for c in ax.collections]) for ax in figure.axes
    ]


def test_every_task_has_a_panel_with_its_points_and_error_at_the_most_rows():
    trials = [outcome(task, rows) for task in ("tests", "cube") for rows in (100, 2000)]
    figure = estimated_against_exact(trials)
    (title, error, (others, asked)), cube = panels(figure)
    assert (title, error, cube[0]) == ("tests", "error, asked: 0.005", "cube")
    pairs = trials[1].pairs
    np.testing.assert_allclose(asked, pairs.loc[pairs["chosen"], ["exact", "estimated"]])
    np.testing.assert_allclose(others, pairs.loc[~pairs["chosen"], ["exact", "estimated"]])
    assert "2,000 rows" in figure.get_suptitle()


def test_seeds_share_a_panel_and_the_error_is_their_mean():
    ((_, error, (others, asked)),) = panels(estimated_against_exact([outcome("tests", 1000, seed) for seed in (0, 1)]))
    assert error == "error, asked: 0.510"
    assert (len(others), len(asked)) == (40, 20)


@pytest.mark.parametrize("n_tasks", [1, 2, 3, 7])
@pytest.mark.usefixtures("real_size")
def test_everything_has_its_place_and_units_are_said(n_tasks):
    figure = estimated_against_exact([outcome(f"task {i}", 500, kind="regression") for i in range(n_tasks)])
    figure.draw_without_rendering()
    assert all(ax.get_xlabel() == "exact (share of the variance)" for ax in figure.axes)
    boxes = [ax.get_tightbbox() for ax in figure.axes]
    words = [figure._suptitle.get_window_extent(), figure.legends[0].get_window_extent()]
    assert all(box.x0 >= 0 and box.x1 <= figure.bbox.width for box in words)
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])
