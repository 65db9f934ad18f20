"""Pictures of a calibration show the numbers of its tables."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex

from askwise.evaluation.calibration import (
    calibration,
    confidence_counts,
    number_reliability,
    reliability,
)
from askwise.evaluation.estimates import realised_bins
from askwise.report.plots import calibration as calibration_plots
from askwise.report.plots.style import ORANGE


@pytest.fixture(scope="module")
def found(clinic, new_cases):
    return calibration(clinic.model_, clinic.encode(new_cases[0]), new_cases[1])


@pytest.fixture(scope="module")
def of_numbers(progression, diabetes):
    return calibration(progression.model_, progression.encode(diabetes[0]), diabetes[1].to_numpy())


def drawn(figure):
    """The figure, after everything on it was really laid out and drawn."""
    figure.canvas.draw()
    return figure


def points(ax):
    """The points of a panel, which no line joins, and the ends of their bars."""
    (container,) = ax.containers
    line, _, (bars,) = container.lines
    assert line.get_linestyle() == "None"
    return line.get_xydata(), np.array([segment[:, 1] for segment in bars.get_segments()])


def is_diagonal(line):
    return np.array_equal(line.get_xdata(), line.get_ydata())


def test_a_reliability_curve_has_the_points_and_intervals_of_its_table(found):
    table = reliability(found.at_budget, found.truth)
    left, _ = drawn(
        calibration_plots.reliability(table, confidence_counts(found.at_budget, found.truth), 0.12, 0.04)
    ).axes
    places, ends = points(left)
    np.testing.assert_allclose(places, table[["confidence", "accuracy"]])
    np.testing.assert_allclose(ends, table[["low", "high"]])
    assert is_diagonal(left.lines[-1])
    assert "ECE 0.120; of a perfect model by chance up to 0.040" in [text.get_text() for text in left.texts]


def test_bars_of_confidence_are_right_and_wrong_cases(found):
    counts = confidence_counts(found.everything, found.truth)
    ax = drawn(calibration_plots.confidence(counts)).axes[0]
    assert [sum(bar.get_height() for bar in bars) for bars in ax.containers] == [
        counts["right"].sum(),
        counts["wrong"].sum(),
    ]


def test_bars_of_right_and_wrong_cases_do_not_cover_each_other(found):
    ax = calibration_plots.confidence(confidence_counts(found.everything, found.truth)).axes[0]
    ends = sorted((bar.get_x(), bar.get_x() + bar.get_width()) for bars in ax.containers for bar in bars)
    assert all(end <= start + 1e-9 for (_, end), (start, _) in pairwise(ends))


def test_a_point_without_an_interval_is_drawn_all_the_same():
    table = number_reliability(np.arange(3.0), np.arange(3.0))
    ax = drawn(calibration_plots.number_reliability(table)).axes[0]
    np.testing.assert_allclose(ax.containers[0].lines[0].get_xydata(), table[["prediction", "truth"]])


def test_numbers_are_drawn_against_their_mean_truth(of_numbers):
    table = number_reliability(of_numbers.at_budget, of_numbers.truth)
    ax = drawn(calibration_plots.number_reliability(table)).axes[0]
    np.testing.assert_allclose(points(ax)[0], table[["prediction", "truth"]])
    assert is_diagonal(ax.lines[-1])


def test_information_has_a_panel_for_loss_and_one_for_entropy_a_line_for_each_model(found):
    table = realised_bins(found.questions)
    figure = drawn(calibration_plots.information({"one $": table, "two": table}, "nats"))
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["Reduction of loss", "Reduction of entropy"] * 2
    places, ends = points(figure.axes[1])
    np.testing.assert_allclose(places, table[["predicted", "entropy_reduction"]])
    np.testing.assert_allclose(ends[:, 1] - ends[:, 0], 2 * 1.96 * table["entropy_reduction_error"])
    assert [ax.texts[0].get_text() for ax in figure.axes[::2]] == [r"one \$", "two"]


def test_information_about_a_number_has_loss_only(of_numbers):
    (ax,) = drawn(calibration_plots.information({"": realised_bins(of_numbers.questions)}, "squared units of y")).axes
    assert "squared units of y" in ax.get_xlabel()


def test_estimates_above_the_bound_are_counted_and_have_a_colour_of_their_own():
    table = pd.DataFrame({"entropy": [0.5, 0.5, 1.0, 0.1], "largest": [0.4, 0.6, 0.9, 0.05]})
    ax, other = drawn(calibration_plots.entropy_bound({"a": table, "b": table.iloc[[0]]})).axes
    assert [ax.get_title(loc="left"), other.get_title(loc="left")] == ["25.0% above the bound", "0.0% above the bound"]
    below, above = ax.collections
    assert to_hex(above.get_facecolor()[0]).upper() == ORANGE
    assert above.get_alpha() > 2 * below.get_alpha()
    assert above.get_sizes() > below.get_sizes()
    assert above.get_offsets().tolist() == [[0.5, 0.6]]
    assert is_diagonal(ax.lines[-1])


def test_of_very_many_estimates_only_some_are_drawn():
    n = 10 * calibration_plots.MOST_POINTS
    table = pd.DataFrame({"entropy": np.linspace(0, 1, n), "largest": 0.1})
    ax = calibration_plots.entropy_bound({"": table}).axes[0]
    assert sum(len(c.get_offsets()) for c in ax.collections) == calibration_plots.MOST_POINTS
    assert ax.get_title(loc="left") == "10.0% above the bound"
