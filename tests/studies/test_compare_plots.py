"""Tables and pictures of a comparison, from results that are made up: every number has its place."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from askwise.evaluation.metrics import all_metrics
from askwise.studies.compare.markdown import markdown
from askwise.studies.compare.method_styles import STYLES
from askwise.studies.compare.plots import comparison, points
from askwise.studies.compare.run import columns
from askwise.studies.compare.tables import areas, ceilings, seconds, standings, summary
from askwise.studies.compare.wording import by_penalties, cautions

BUDGETS = (1.0, 2.0, 4.0)
MANY = ["dime", "argmax-direct", "eddi", "cwcf", "opportunistic", "concrete-autoencoder", "mrmr", "cmicot",
        "random-order", "all-features"]  # fmt: skip


def made_up(
    scores, dataset="clinic", metric="accuracy", rule="budget", budgets=BUDGETS, paid=None, protocol="shared", groups=8
):
    """Results of a dataset, from a list of seeds for each method, each a list of the metric at every budget."""
    lines = []
    for method, seeds in scores.items():
        for seed, values in enumerate(seeds):
            what = {"dataset": dataset, "method": method, "seed": seed, "protocol": protocol, "metric": metric}
            figures = {"train_seconds": 2.0, "train_cpu_seconds": 1.5, "microseconds_per_row": 30.0}
            figures |= {
                "rows_trained": 900.0,
                "n_test": 200.0,
                "n_groups": float(groups),
                "task": "classification",
                "device": "cpu",
            }
            for budget, cost, value in zip(budgets, paid or budgets, values, strict=False):
                facts = {"rule": rule, "budget": budget, "mean_cost": cost, "mean_groups": cost}
                lines.append({**what, **facts, **figures, metric: value})
    return pd.DataFrame(lines, columns=columns())


def with_ceiling(results, level, budget=8.0):
    line = results.iloc[0].to_dict() | {"method": "all-features", "rule": "everything", "budget": budget}
    return pd.concat([results, pd.DataFrame([line | {results["metric"].iloc[0]: level}])], ignore_index=True)


GOOD, NEAR, BAD = ([[0.6, 0.7, 0.9], [0.62, 0.7, 0.88], [0.61, 0.71, 0.9]], [[0.6, 0.69, 0.9], [0.62, 0.71, 0.88],
                   [0.62, 0.69, 0.9]], [[0.3, 0.4, 0.5], [0.31, 0.41, 0.5], [0.3, 0.42, 0.5]])  # fmt: skip


def test_means_and_standard_errors_are_over_seeds():
    table = summary(made_up({"dime": GOOD}))
    assert table["budget"].tolist() == list(BUDGETS)
    np.testing.assert_allclose(table["mean"], np.mean(GOOD, 0))
    np.testing.assert_allclose(table["error"], np.std(GOOD, 0, ddof=1) / np.sqrt(3))
    assert (table["seeds"] == 3).all()


def test_the_area_is_the_mean_over_budgets_from_nothing_to_the_largest():
    # Flat up to 1, then two straight pieces.
    expected = (0.6 * 1 + 0.65 * 1 + 0.8 * 2) / 4
    assert areas(made_up({"dime": GOOD[:1]}))["area"].tolist() == pytest.approx([expected])


def test_areas_of_average_costs_are_over_what_was_spent_held_back_from_the_first_budget():
    spent = made_up({"dime": GOOD[:1]}, rule="average-cost", paid=(0.5, 2.0, 4.0))
    at_first = 0.6 + 0.1 / 3
    expected = (at_first * 1 + (at_first + 0.7) / 2 * 1 + 0.8 * 2) / 4
    assert areas(spent, "average-cost")["area"].tolist() == pytest.approx([expected])


def test_budgets_and_penalties_through_the_same_points_have_the_same_area():
    budgets = areas(made_up({"dime": GOOD}))["area"]
    assert areas(made_up({"dime": GOOD}, rule="average-cost"), "average-cost")["area"].tolist() == budgets.tolist()
    # A penalty that asks nothing is a point of its curve, but does not move the start of the area.
    nothing = [[2 * a - b, b, c] for a, b, c in GOOD]
    found = made_up({"dime": nothing}, rule="average-cost", paid=(0.0, 2.0, 4.0))
    assert areas(found, "average-cost")["area"].tolist() == pytest.approx(budgets.tolist())


def test_a_seed_without_all_budgets_has_no_area():
    found = areas(made_up({"dime": [GOOD[0], GOOD[1][:2]]}))
    assert found["area"].isna().tolist() == [False, True]


def test_the_best_is_the_best_and_only_what_is_surely_worse_is_called_so():
    table = standings(made_up({"mrmr": BAD, "dime": GOOD, "eddi": NEAR, "exact": [[1, 1, 1]] * 3})).set_index("method")
    assert table.index[table["best"]].tolist() == ["dime"]
    assert table["as_good"].to_dict() == {"mrmr": False, "dime": True, "eddi": True, "exact": False}
    assert table.loc["mrmr", "p_value"] < 0.01
    assert table.loc["eddi", "p_value"] > 0.05


def test_lower_is_better_where_it_is():
    table = standings(made_up({"mrmr": BAD, "dime": GOOD}, metric="rmse")).set_index("method")
    assert table["best"].to_dict() == {"mrmr": True, "dime": False}


@pytest.mark.parametrize("n_seeds", [1, 2])
def test_fewer_than_three_shared_seeds_call_nothing_as_good_as_the_best(n_seeds):
    table = standings(made_up({"dime": GOOD, "eddi": NEAR[:n_seeds], "mrmr": NEAR})).set_index("method")
    assert np.isnan(table.loc["eddi", "p_value"]) == (n_seeds == 1)
    assert table["as_good"].to_dict() == {"dime": True, "eddi": False, "mrmr": True}


# On the seeds that both have it is behind, and the seed that it lacks is a hard one.
LUCKY = [[0.61, 0.71, 0.91], [0.6, 0.7, 0.9], [0.62, 0.72, 0.92]]
WHOLE = [[0.62, 0.72, 0.92], [0.62, 0.72, 0.92], [0.62, 0.72, 0.92], [0.3, 0.4, 0.5]]


def test_only_methods_with_all_seeds_may_be_the_best():
    results = made_up({"eddi": LUCKY, "dime": WHOLE, "mrmr": [*BAD, BAD[0]]})
    table = standings(results).set_index("method")
    assert table.loc["eddi", "area"] > table.loc["dime", "area"]
    assert table.index[table["best"]].tolist() == ["dime"]
    assert table["seeds"].to_dict() == {"eddi": 3, "dime": 4, "mrmr": 4}
    lines = {line.split(" | ")[0].strip("| "): line for line in markdown(results).splitlines() if line[:2] == "| "}
    assert lines["dime"].count("**") == 8
    assert "**" not in lines["eddi"] + lines["mrmr"]
    assert " | 3 | 2.0 | 30 |" in lines["eddi"]


def test_a_method_with_fewer_seeds_that_leads_on_those_is_not_called_worse():
    ahead = [[value + 0.01 + seed / 1000 for value in WHOLE[seed]] for seed in range(3)]
    table = standings(made_up({"eddi": ahead, "dime": WHOLE})).set_index("method")
    assert table["best"].to_dict() == {"eddi": False, "dime": True}
    assert table.loc["eddi", "p_value"] < 0.05
    assert table.loc["eddi", "as_good"]


def test_how_far_a_method_is_behind_the_best_is_told_seed_by_seed():
    table = standings(made_up({"dime": GOOD, "mrmr": BAD})).set_index("method")
    each = areas(made_up({"dime": GOOD}))["area"] - areas(made_up({"mrmr": BAD}))["area"]
    assert table.loc["mrmr", "behind"] == pytest.approx(each.mean())
    assert table.loc["mrmr", "behind_error"] == pytest.approx(each.std() / np.sqrt(3))
    assert np.isnan(table.loc["dime", "behind"])
    lower = standings(made_up({"dime": GOOD, "mrmr": BAD}, metric="rmse")).set_index("method")
    assert lower.loc["dime", "behind"] == pytest.approx(each.mean())
    shown = f"| {100 * each.mean():.1f} ± {100 * each.std() / np.sqrt(3):.1f} |"
    assert shown in markdown(made_up({"dime": GOOD, "mrmr": BAD}))


def test_what_numbers_can_not_tell_is_said():
    assert cautions(made_up({"dime": GOOD, "random-order": BAD})) == []
    assert "2 seeds tell nothing apart" in cautions(made_up({"dime": GOOD[:2], "mrmr": BAD[:2]}))[0]
    (random,) = cautions(made_up({"dime": GOOD, "random-order": NEAR}))
    assert "On clinic, 3 seeds can't tell the best from a random order" in random
    (few,) = cautions(made_up({"dime": GOOD, "mrmr": BAD}).assign(n_test=49.0))
    assert "On clinic, 49 rows are tested on" in few
    assert few in markdown(made_up({"dime": GOOD, "mrmr": BAD}).assign(n_test=49.0))


def test_areas_of_stopping_by_penalties_stand_beside_those_of_budgets():
    results = pd.concat([made_up({"dime": GOOD}), made_up({"dime": GOOD[1:2], "eddi": BAD[1:2]}, rule="average-cost")])
    assert "at an average cost: dime 71.5, eddi 39.5 (area" in by_penalties(results)
    assert by_penalties(results) in markdown(results)
    assert by_penalties(made_up({"dime": GOOD})) == ""


def test_times_are_said_to_be_of_the_device_they_were_taken_on():
    results = made_up({"dime": GOOD, "exact": GOOD})
    assert "Times are of one core of a CPU." in markdown(results)
    assert "Times are of a GPU." in markdown(results.assign(device="cuda"))
    mixed = results.assign(device=np.where(results["method"] == "exact", "cpu", "cuda"))
    assert "Times are of a GPU (dime) and one core of a CPU (exact)." in markdown(mixed)


def test_models_for_each_budget_take_the_time_of_all_of_them():
    both = pd.concat([made_up({"mrmr": BAD}, protocol="paper"), made_up({"dime": GOOD})])
    times = seconds(both)["train_seconds"]
    assert times.loc[("clinic", "mrmr")] == pytest.approx(6.0)
    assert times.loc[("clinic", "dime")] == pytest.approx(2.0)


def test_markdown_has_every_number_the_best_in_bold_and_the_ceiling():
    text = markdown(with_ceiling(made_up({"mrmr": BAD, "dime": GOOD, "eddi": NEAR}), 0.95))
    lines = {line.split(" | ")[0].strip("| "): line for line in text.splitlines() if line.startswith("| ")}
    assert lines["method"] == "| method | 1 | 2 | 4 | area | behind best | seeds | train, s | ask, µs |"
    assert "| 30.3 ± 0.3 | 41.0 ± 0.6 | 50.0 ± 0.0 |" in lines["mrmr"]
    assert lines["dime"].count("**") >= 4
    assert "°" in lines["eddi"]
    assert list(lines)[1:] == ["dime", "eddi", "mrmr"]
    assert "With everything known (all-features): 95.0" in text
    assert "Accuracy in %, higher is better" in text


@pytest.mark.parametrize("metric", all_metrics())
def test_every_metric_has_its_heading_its_numbers_and_its_panel(metric):
    words, results = all_metrics()[metric], made_up({"dime": GOOD, "mrmr": BAD}, metric=metric)
    text = markdown(results)
    heading = f"{words.label} in %" if words.is_share else words.label
    assert f"{heading}, {'higher' if words.higher_is_better else 'lower'} is better." in text
    assert words.form.format(np.mean(GOOD, 0)[0]).rstrip("%") in text
    assert standings(results).set_index("method")["best"]["dime" if words.higher_is_better else "mrmr"]
    assert comparison(results).axes[0].get_ylabel().startswith(words.name)


def test_ceilings_are_by_dataset():
    assert ceilings(with_ceiling(made_up({"dime": GOOD}), 0.95)).loc["clinic", "mean"] == 0.95


def suite(n_datasets, methods=MANY):
    draw = np.random.default_rng(0)
    parts = []
    for i in range(n_datasets):
        scores = {m: draw.random((2, 3)).tolist() for m in methods if m != "all-features"}
        wide = (1.0, 5.0, 20.0) if i % 2 else BUDGETS
        parts.append(with_ceiling(made_up(scores, f"data {i}", "auroc" if i % 2 else "accuracy", budgets=wide), 0.9))
    return pd.concat(parts, ignore_index=True)


def test_every_dataset_has_a_panel_and_every_method_a_line_with_a_band():
    results = suite(2)
    figure = comparison(results)
    figure.canvas.draw()
    assert [ax.get_title("left") for ax in figure.axes] == ["data 0", "data 1"]
    first, second = figure.axes
    drawn = [line for line in first.lines if line.get_linestyle() != "--" or len(line.get_xdata()) == 3]
    assert len(first.collections) == 9
    dime = next(line for line in drawn if line.get_color() == STYLES["dime"].colour)
    table = summary(results[results["dataset"] == "data 0"])
    np.testing.assert_allclose(dime.get_xdata(), BUDGETS)
    np.testing.assert_allclose(dime.get_ydata(), table.loc[table["method"] == "dime", "mean"])
    assert any(np.allclose(line.get_ydata(), 0.9) for line in first.lines)
    assert (first.get_xscale(), second.get_xscale()) == ("linear", "function")
    assert [label.get_text() for label in second.get_xticklabels()] == ["1", "5", "20"]
    assert (first.get_ylabel(), second.get_ylabel()) == ("Accuracy", "AUROC")


def test_average_costs_are_drawn_where_they_were_really_spent():
    both = [made_up({"dime": GOOD, "mrmr": BAD}), made_up({"dime": NEAR}, rule="average-cost", paid=(0.9, 1.8, 4.4))]
    figure = comparison(pd.concat(both, ignore_index=True), "average-cost")
    places = sorted(tuple(line.get_xdata()) for line in figure.axes[0].lines)
    assert places == [(0.9, 1.8, 4.4), BUDGETS]


@pytest.mark.parametrize("budgets", [BUDGETS, (1.0, 5.0, 20.0)])
def test_a_picture_has_every_point_of_its_table_those_that_ask_nothing_too(budgets):
    asks_nothing = made_up({"dime": GOOD}, rule="average-cost", budgets=budgets, paid=(0.0, 0.3, budgets[2]))
    both = [made_up({"dime": GOOD, "mrmr": BAD}, budgets=budgets), asks_nothing]
    results = pd.concat(both, ignore_index=True)
    table = points(results, "average-cost")
    assert sorted(table["cost"]) == sorted([*budgets, 0.0, 0.3, budgets[2]])
    figure = comparison(results, "average-cost")
    figure.canvas.draw()
    (ax,) = figure.axes
    drawn = np.concatenate([line.get_xydata() for line in ax.lines])
    assert len(drawn) == len(table)
    for point in table[["cost", "mean"]].to_numpy():
        assert np.isclose(drawn, point).all(1).any()
    places = ax.transData.transform(drawn)
    assert np.isfinite(places).all()
    assert all(ax.bbox.contains(x, y) for x, y in places)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0", *(f"{budget:g}" for budget in budgets)]


def test_no_two_methods_look_alike():
    styles = list(STYLES.values())
    assert len({(s.colour, s.dashes) for s in styles}) == len(styles)
    assert len({s.marker for s in styles}) == len(styles)


@pytest.mark.parametrize(("n_datasets", "methods"), [(1, ["dime", "mine", "yours"]), (1, MANY), (2, MANY), (8, MANY)])
@pytest.mark.usefixtures("real_size")
def test_the_legend_and_the_panels_hide_nothing(n_datasets, methods):
    figure = comparison(suite(n_datasets, methods))
    figure.draw_without_rendering()
    boxes = [ax.get_tightbbox() for ax in figure.axes]
    legend = figure.legends[0].get_window_extent()
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in [*boxes[:i], legend])
    assert legend.x0 >= 0
    assert legend.x1 <= figure.bbox.width
    assert legend.y0 >= 0
    assert len(figure.legends[0].get_texts()) == len({*methods, "all-features"})
