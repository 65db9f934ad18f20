"""Summaries say what the model did."""

from __future__ import annotations

import pandas as pd
import pytest

from askwise import AskwiseError, Budget, Confidence, Penalty
from askwise.evaluation.metrics import METRICS
from askwise.evaluation.summaries import (
    HIGHER_IS_BETTER,
    main_metric,
    operating_points,
    path_table,
    reason_counts,
    selection_frequency,
)


@pytest.fixture(scope="module")
def clinic_rows(clinic, new_cases):
    return clinic.model_.schema.encode(new_cases[0])


def test_every_metric_of_an_evaluation_has_a_better_side():
    assert {name for metrics in METRICS.values() for name in metrics} == set(HIGHER_IS_BETTER)


def test_selection_frequency_counts_what_is_known_after_each_question():
    table = selection_frequency([["a", "b"], ["a"], ["b", "a"], ["b"]], ["c", "a", "b"])
    expected = pd.DataFrame([[0.5, 0.75], [0.5, 0.75], [0.0, 0.0]], index=["a", "b", "c"], columns=[1, 2])
    pd.testing.assert_frame_equal(table, expected, check_column_type=False, check_index_type=False)


def test_selection_frequency_agrees_with_acquire(clinic, new_cases):
    found = clinic.acquire(new_cases[0], stop=Budget(20))
    table = selection_frequency(found.order, list(found.known.columns))
    assert table[table.columns[-1]].to_dict() == pytest.approx(found.known.mean().to_dict())
    assert list(table.sum(axis=1)) == sorted(table.sum(axis=1), reverse=True)


def test_reason_counts_cover_every_row_once(clinic, new_cases):
    rules = {"cap": Budget(20), "both": Budget(20) | Confidence(0.3)}
    found = {name: clinic.acquire(new_cases[0], stop=rule) for name, rule in rules.items()}
    table = reason_counts(found)
    assert list(table.sum(axis=1)) == [len(new_cases[0])] * 2
    assert table.loc["both", "confidence"] == (found["both"].reason == "confidence").sum() > 0


@pytest.mark.parametrize("stop", [None, Budget(20), Penalty(0.01)])
def test_a_path_is_what_acquire_did(clinic, clinic_rows, stop):
    found = clinic.model_.acquire(clinic_rows, stop)
    table = path_table(clinic.model_, clinic_rows, stop, which=[7, 3])
    assert list(table["row"].unique()) == [7, 3]
    for row, part in table.groupby("row"):
        assert part["asked"].tolist() == ["", *found.order[row]]
        assert part["step"].tolist() == list(range(len(part)))
        last = part.iloc[-1]
        assert (last["spent"], last["reason"]) == (found.spent[row], found.reason[row])
        # Two rows and eighty are multiplied in different orders, so the last bits of float32 may differ.
        assert last[["P(sick)", "P(well)"]].tolist() == pytest.approx(found.proba[row].tolist(), abs=1e-6)


def test_a_path_under_other_costs_spends_those(clinic, clinic_rows):
    table = path_table(clinic.model_, clinic_rows, Budget(1000), {"scan": 500}, which=[0])
    assert table["spent"].diff()[table["asked"] == "scan"].tolist() == [500]


@pytest.mark.parametrize("which", [[], [80], [-1]])
def test_a_path_of_a_row_that_is_not_there_is_an_error(clinic, clinic_rows, which):
    with pytest.raises(AskwiseError, match="0 to 79"):
        path_table(clinic.model_, clinic_rows, None, which=which)


def curve_of(accuracy: list[float]) -> pd.DataFrame:
    cost = [0.0, 2.0, 5.0, 10.0]
    facts = {"rule": "budget", "parameter": cost, "mean_cost": cost, "mean_groups": [0, 1, 2, 3]}
    return pd.DataFrame({**facts, "accuracy": accuracy})


def test_an_operating_point_is_where_the_curve_bends():
    point = operating_points(curve_of([0.5, 0.6, 0.88, 0.9]), "accuracy").iloc[0]
    assert (point["parameter"], point["cost_share"]) == (5.0, 0.5)
    assert point["accuracy_area"] == pytest.approx((2 * 0.55 + 3 * 0.74 + 5 * 0.89) / 10)


def test_where_asking_wins_nothing_the_operating_point_spends_most_but_not_nearly_all():
    assert operating_points(curve_of([0.5, 0.5, 0.5, 0.4]), "accuracy").iloc[0]["parameter"] == 5.0


def test_the_main_metric_is_the_first_of_the_table():
    table = curve_of([0.5, 0.6, 0.7, 0.8])
    assert main_metric(table.assign(auroc=0.5)) == "accuracy"
    assert main_metric(table.rename(columns={"accuracy": "auroc"}).assign(accuracy=0.5)) == "auroc"
