"""The area under a curve has one definition for every stopping rule."""

from __future__ import annotations

import pandas as pd
import pytest

from askwise.evaluation.areas import area_under_curve


def test_the_area_under_a_curve_is_the_mean_over_cost():
    table = pd.DataFrame({"mean_cost": [0.0, 10.0, 5.0], "auroc": [0.5, 0.9, 0.8]})
    assert area_under_curve(table, "auroc") == pytest.approx((0.65 * 5 + 0.85 * 5) / 10)
    assert area_under_curve(table, "auroc", most=5) == pytest.approx(0.65)
    assert area_under_curve(table, "auroc", most=20) == pytest.approx((0.65 * 5 + 0.85 * 5 + 0.9 * 10) / 20)


def test_the_area_of_a_constant_metric_is_that_constant():
    table = pd.DataFrame({"mean_cost": [1.0, 3.0], "r2": [0.4, 0.4]})
    for most in (None, 0.5, 2, 30):
        for first in (0.0, 1.0, 2.5):
            assert area_under_curve(table, "r2", most, first) == pytest.approx(0.4)


def test_the_value_at_the_first_cost_is_held_back_whatever_lies_below_it():
    above = pd.DataFrame({"mean_cost": [1.0, 2.0, 4.0], "auroc": [0.6, 0.7, 0.9]})
    held = area_under_curve(above, "auroc", most=4, first=1)
    assert held == pytest.approx((0.6 * 1 + 0.65 * 1 + 0.8 * 2) / 4)
    # Asking nothing, and a point on the line to the next one: the curve from the first cost on is the same.
    below = pd.DataFrame({"mean_cost": [0.0, 0.5, 2.0, 4.0], "auroc": [0.5, 0.55, 0.7, 0.9]})
    assert area_under_curve(below, "auroc", most=4, first=1) == pytest.approx(held)
    # With no cost to hold back from, what is measured below counts.
    assert area_under_curve(below, "auroc", most=4) < held


def test_where_nothing_is_measured_at_cost_0_the_first_value_is_held_back():
    table = pd.DataFrame({"mean_cost": [2.0, 4.0], "auroc": [0.6, 0.8]})
    assert area_under_curve(table, "auroc") == pytest.approx(area_under_curve(table, "auroc", first=1.0))
    assert area_under_curve(table, "auroc") == pytest.approx((0.6 * 2 + 0.7 * 2) / 4)


def test_an_area_up_to_no_cost_is_the_last_value():
    assert area_under_curve(pd.DataFrame({"mean_cost": [0.0], "auroc": [0.5]}), "auroc") == 0.5
