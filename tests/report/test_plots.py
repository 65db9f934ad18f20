"""Pictures hold what their tables say."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from askwise import AskwiseError, Budget
from askwise.evaluation.metrics import METRICS
from askwise.evaluation.summaries import path_table, selection_frequency
from askwise.report.plots import cases as case_plots
from askwise.report.plots import curves, questions, style
from askwise.report.plots.axes import percents


@pytest.fixture(scope="module")
def flower_curve(flowers, iris):
    return flowers.curve(*iris, bootstrap=20, points=6)


@pytest.fixture(scope="module")
def clinic_rows(clinic, new_cases):
    return clinic.model_.schema.encode(new_cases[0])


def drawn(figure: Figure) -> Figure:
    """The figure, after everything on it was really laid out and drawn."""
    figure.canvas.draw()
    return figure


def texts(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.findobj(lambda artist: hasattr(artist, "get_text"))]


def curve_of(costs: list[float], groups: list[float]) -> pd.DataFrame:
    rise = np.linspace(0.5, 0.9, len(costs))
    return pd.DataFrame({"rule": "budget", "mean_cost": costs, "mean_groups": groups, "accuracy": rise})


def test_every_metric_of_an_evaluation_has_words():
    assert {name for metrics in METRICS.values() for name in metrics} == set(style.METRIC_WORDS)


def test_a_cost_curve_has_one_line_for_each_rule_with_the_numbers_of_the_table(flower_curve):
    ax = drawn(curves.cost_curve(flower_curve)).axes[0]
    lines = {line.get_label(): line for line in ax.lines if not line.get_label().startswith("_")}
    assert list(lines) == ["budget", "confidence", "penalty", "average-cost"]
    for rule, line in lines.items():
        part = flower_curve[flower_curve["rule"] == rule].sort_values("mean_cost")
        np.testing.assert_array_equal(line.get_xdata(), part["mean_cost"])
        np.testing.assert_array_equal(line.get_ydata(), part["accuracy"])


def test_a_cost_curve_marks_the_level_of_asking_everything(flower_curve):
    ax = curves.cost_curve(flower_curve, "log_loss").axes[0]
    level = flower_curve.loc[flower_curve["mean_cost"].idxmax(), "log_loss"]
    assert list(ax.lines[-1].get_ydata()) == [level, level]
    assert f"⋯ with everything: {level:.3f}" in [text.get_text() for text in ax.texts]


def test_bands_are_drawn_only_where_the_table_has_intervals(flower_curve):
    bare = flower_curve.drop(columns=["accuracy_low", "accuracy_high"])
    assert len(curves.cost_curve(flower_curve).axes[0].collections) == 4
    assert len(curves.cost_curve(bare).axes[0].collections) == 0


def test_low_costs_are_spread_only_where_the_range_is_wide():
    narrow, wide = curve_of([0, 1, 4], [0, 1, 4]), curve_of([0, 1, 100], [0, 1, 100])
    assert curves.cost_curve(narrow).axes[0].get_xscale() == "linear"
    ax = curves.cost_curve(wide).axes[0]
    assert ax.get_xscale() == "function"
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0", "1", "2", "5", "10", "20", "50", "100"]
    assert "questions" in ax.get_xlabel()
    assert "log scale" in ax.get_xlabel()


def test_a_regression_shows_rmse_first(progression, diabetes):
    table = progression.curve(*diabetes, points=4)
    assert "RMSE" in curves.cost_curve(table).axes[0].get_ylabel()
    assert [ax.get_title(loc="left") for ax in curves.metric_curves(table).axes] == ["RMSE (units of y)", "R²"]


def test_metric_curves_have_one_panel_for_each_metric(flower_curve):
    titles = [ax.get_title(loc="left") for ax in drawn(curves.metric_curves(flower_curve)).axes]
    assert titles[:6] == [
        style.METRIC_WORDS[m].label for m, it in METRICS["classification"].items() if not it.two_classes
    ]


def test_an_unknown_metric_names_the_nearest(flower_curve):
    with pytest.raises(AskwiseError, match="unknown metric 'acuracy'; did you mean 'accuracy'"):
        curves.cost_curve(flower_curve, "acuracy")


def test_a_heat_map_shows_only_the_groups_asked_first():
    names = [f"g{i}" for i in range(30)]
    table = selection_frequency([names] * 3, names, most=5)
    ax = drawn(questions.selection_heatmap(table, groups=4)).axes[0]
    assert [label.get_text() for label in ax.get_yticklabels()] == names[:4]
    assert "first 4 of 30" in ax.get_title(loc="left")


def test_the_bars_of_stop_reasons_are_shares_of_their_rows():
    table = pd.DataFrame({"budget": [3, 1], "confidence": [1, 0]}, index=["both", "cap"])
    widths = [bar.get_width() for bar in drawn(questions.stop_reasons(table)).axes[0].patches]
    assert widths == [0.75, 1.0, 0.25, 0.0]


def test_paths_have_a_panel_for_each_row_and_tell_mistakes(clinic, clinic_rows):
    table = path_table(clinic.model_, clinic_rows, None, which=[0, 1])
    first, second = clinic.classes_[clinic.model_.acquire(clinic_rows, None).proba[:2].argmax(1)]
    other = "well" if second == "sick" else "sick"
    titles = [ax.get_title(loc="left") for ax in drawn(case_plots.paths(table, [first, other])).axes]
    assert titles == [f"Case 0: {first} ✓", f"Case 1: {second}, but is {other}"]


def path_of(asked: list[str], **answers: object) -> pd.DataFrame:
    facts = {"row": 0, "step": range(len(asked)), "asked": asked, "spent": 1.0, "reason": "budget"}
    return pd.DataFrame(facts).assign(**answers)


def test_the_label_predicted_in_the_end_always_has_a_colour():
    # Six labels were likelier on the way than j ever is, and there are six colours.
    on_the_way = {f"P({k})": [0.3, 0.0, 0.1] for k in "abc"} | {f"P({k})": [0.0, 0.3, 0.1] for k in "def"}
    table = path_of(["", "q", "r"], **on_the_way, **{"P(j)": [0.1, 0.1, 0.28]})
    bars = drawn(case_plots.paths(table)).axes[0].patches
    colours = [to_hex(bar.get_facecolor()).upper() for bar in bars if bar.get_width() == 0.28]
    assert len(colours) == 1
    assert colours[0] in style.CATEGORIES


def test_paths_of_numbers_share_one_range(progression, diabetes):
    rows = progression.model_.schema.encode(diabetes[0])
    table = path_table(progression.model_, rows, Budget(8), which=[0, 1, 2])
    limits = {ax.get_xlim() for ax in drawn(case_plots.paths(table, diabetes[1])).axes}
    assert len(limits) == 1


def test_a_long_path_is_cut_before_its_last_step():
    table = path_of(["", *(f"q{i}" for i in range(1, 40))], prediction=1.0)
    labels = [label.get_text() for label in case_plots.paths(table, steps=3).axes[0].get_yticklabels()]
    assert labels == ["nothing asked", "q1", "q2", "q3", "… 39: q39"]


def test_a_frontier_reads_from_penalty_to_cost_to_metric(flowers):
    left, right = drawn(curves.frontier(flowers.frontier_)).axes
    by_cost = flowers.frontier_.sort_values("mean_cost")
    for ax in (left, right):
        np.testing.assert_array_equal(ax.lines[0].get_xdata(), by_cost["mean_cost"])
    np.testing.assert_array_equal(right.lines[0].get_ydata(), by_cost["accuracy"])
    assert left.get_yscale() == "log"
    assert "nats" in left.get_ylabel()


def test_penalties_too_small_for_a_log_axis_are_drawn_at_its_edge_and_said_to_be_there():
    cost, penalty = [0.0, 1.0, 2.0, 3.0], [0.5, 0.1, 1e-9, 0.0]
    facts = {"penalty": penalty, "mean_cost": cost, "mean_groups": cost, "accuracy": [0.5, 0.7, 0.8, 0.9]}
    left = drawn(curves.frontier(pd.DataFrame(facts))).axes[0]
    line, edge = left.lines
    assert line.get_xdata().tolist() == cost
    assert edge.get_xdata().tolist() == [2.0, 3.0]
    assert set(edge.get_ydata()) == {0.05}
    assert left.get_ylim()[0] < 0.05
    assert "▾: nearly 0" in left.get_ylabel()


def narrow(accuracy: list[float]) -> pd.DataFrame:
    cost = np.linspace(0, 4, len(accuracy))
    return pd.DataFrame({"rule": "budget", "mean_cost": cost, "mean_groups": cost, "accuracy": accuracy})


def test_ticks_of_a_small_range_are_written_with_enough_digits_to_differ():
    figure = drawn(curves.cost_curve(narrow([0.9712, 0.9725, 0.9731])))
    said = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert len(set(said)) == len(said) > 2
    assert percents([0.95, 1.0]) == ["95%", "100%"]
    assert percents([0.9725, 0.973]) == ["97.25%", "97.30%"]


@pytest.mark.usefixtures("real_size")
def test_no_words_of_a_picture_are_cut():
    """A long metric in a narrow panel, and a number whose target has a long name."""
    cost = [0.0, 1.0, 2.0]
    facts = {"rule": "budget", "mean_cost": cost, "mean_groups": cost, "penalty": [0.5, 0.1, 1e-9]}
    classes = pd.DataFrame({**facts, "sensitivity_at_90_specificity": [0.0, 0.5, 0.75], "brier": [0.3, 0.2, 0.1]})
    number = pd.DataFrame({**facts, "rmse": [9.0, 5.0, 4.0], "r2": [0.0, 0.5, 0.6]})
    target = "systolic pressure at rest"
    for figure in (
        curves.metric_curves(classes, columns=2),
        curves.metric_curves(number, columns=2, target=target),
        curves.frontier(number, target=target),
        curves.cost_curve(number, target=target),
    ):
        FigureCanvasAgg(figure).draw()
        for ax in figure.axes:
            labels = (ax.title, ax._left_title, ax._right_title, ax.xaxis.label, ax.yaxis.label)
            for text in (label for label in labels if label.get_text()):
                box = text.get_window_extent()
                assert box.x0 >= 0, text
                assert box.y0 >= 0, text
                assert box.x1 <= figure.bbox.x1 + 1, text
                assert box.y1 <= figure.bbox.y1 + 1, text


def test_the_unit_of_a_number_is_named_after_its_target():
    table = narrow([0.5, 0.6, 0.7]).rename(columns={"accuracy": "rmse"})
    assert "units of pressure" in curves.cost_curve(table, target="pressure").axes[0].get_ylabel()
    assert "units of y" in curves.cost_curve(table).axes[0].get_ylabel()


def test_asked_pixels_are_numbered_where_they_lie_and_the_rest_is_dim():
    names = [f"p{i}" for i in range(6)]
    figure = drawn(case_plots.digit_selections(np.ones((1, 2, 3)), [["p5", "p0"]], names, truth=[4], predicted=[7]))
    ax = figure.axes[0]
    assert {t.get_text(): t.get_position() for t in ax.texts} == {"1": (2, 1), "2": (0, 0)}
    colours = np.asarray(ax.images[0].get_array())[..., :3]
    is_grey = np.ptp(colours, axis=2) < 1e-6
    assert is_grey.tolist() == [[False, True, True], [True, True, False]]
    assert ax.get_title() == "says 7, is 4"


def test_names_are_drawn_as_they_are_even_with_dollars_or_an_underscore_first():
    table = pd.DataFrame({"a_$b^$": [2, 3], "_own": [1, 0]}, index=["$x_{", "line\nbreak"])
    said = texts(drawn(questions.stop_reasons(table)))
    assert {r"a_\$b^\$", "_own", r"\$x_{", "line break"} <= set(said)


def test_pictures_need_no_pyplot(flower_curve, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    drawn(curves.metric_curves(flower_curve))


def test_without_matplotlib_the_error_says_how_to_install_it(flower_curve, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(AskwiseError, match=r"pip install 'askwise\[plot\]'"):
        curves.cost_curve(flower_curve)
