"""The bend of a curve is the point to start with."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from askwise.evaluation.bend import find_bend, suggested_rule

COSTS = np.arange(11.0)


def curve(loss: np.ndarray, **more: object) -> pd.DataFrame:
    return pd.DataFrame({"mean_cost": COSTS, "mean_groups": COSTS, "log_loss": loss, **more})


def test_the_bend_is_where_a_steep_curve_becomes_flat():
    """Three questions take 0.54 of 0.61 nats off, the other seven 0.01 each."""
    bend = find_bend(curve(0.7 - 0.18 * np.minimum(COSTS, 3) - 0.01 * np.maximum(COSTS - 3, 0)), "log_loss")
    assert (bend.index, bend.cost, bend.groups) == (3, 3.0, 3.0)
    assert bend.gain_share == pytest.approx(0.54 / 0.61)
    assert not bend.is_straight


def test_of_a_metric_that_is_better_the_higher_it_is_the_same():
    rise = 0.5 + 0.1 * np.minimum(COSTS, 4)
    table = pd.DataFrame({"mean_cost": COSTS, "mean_groups": COSTS, "auroc": rise})
    assert find_bend(table, "auroc").cost == 4.0


def test_a_curve_that_bends_late_is_cut_at_80_percent():
    assert find_bend(curve(0.7 - 0.05 * np.minimum(COSTS, 9.5)), "log_loss").cost == 8.0


def test_a_straight_curve_is_said_to_be_straight():
    bend = find_bend(curve(0.7 - 0.05 * COSTS), "log_loss")
    assert (bend.cost, bend.is_straight) == (8.0, True)


def test_where_asking_brings_nothing_there_is_no_bend():
    assert find_bend(curve(0.7 + 0.01 * COSTS), "log_loss") is None
    assert find_bend(curve(np.full(11, 0.7)), "log_loss") is None


def test_where_everything_is_worse_than_nothing_the_bend_is_at_the_best():
    loss = np.array([0.7, 0.5, 0.4, 0.5, 0.6, 0.7, 0.8, 0.8, 0.9, 0.9, 1.0])
    bend = find_bend(curve(loss), "log_loss")
    assert (bend.cost, bend.gain_share) == (2.0, None)


def test_a_single_question_is_suggested_although_it_is_everything():
    table = pd.DataFrame({"mean_cost": [0.0, 1.0], "mean_groups": [0.0, 1.0], "log_loss": [0.7, 0.3]})
    assert find_bend(table, "log_loss").cost == 1.0


def test_the_suggested_rule_is_the_average_cost_of_that_line_never_less():
    loss = 0.7 - 0.18 * np.minimum(COSTS, 3) - 0.01 * np.maximum(COSTS - 3, 0)
    assert suggested_rule(curve(loss, penalty=0.1, average_cost=1.2345 * COSTS))[0] == "average-cost=3.71"
    assert suggested_rule(curve(loss, budget=COSTS))[0] == "budget=3"
    assert suggested_rule(curve(np.full(11, 0.7), penalty=0.1)) is None
