"""What it brings to know that several questions share a price."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

from askwise import DimeClassifier, Penalty
from askwise.core.costs import SharedCost, join_costs
from askwise.core.prices import Prices
from askwise.data.tables.schema import Schema
from askwise.evaluation.areas import area_under_curve
from askwise.evaluation.calibration import calibration_budget
from askwise.evaluation.metrics import metrics
from askwise.evaluation.thresholds import average_costs, budgets
from askwise.studies.compare.budgets import budgets_for
from askwise.studies.compare.data import TableData

BLOOD = {"TSH": 0.6, "T3": 0.5, "TT4": 0.55}
CHEAP = ("tired", "goitre", "on medication")
DRAW = 4.0
SHARED = {**BLOOD, **dict.fromkeys(CHEAP, 0.5), "draw": {"price": DRAW, "for": list(BLOOD)}}
# What each costs if the draw is counted with every one of them.
EACH = {name: price + DRAW for name, price in BLOOD.items()}
COSTS = join_costs((0.5, 0.5, 1.0), [SharedCost("draw", 4.0, (0, 1))])


def thyroid(n_rows, seed):
    """Rows as of a thyroid clinic: cheap questions that tell little, and three values of one blood sample."""
    draws = np.random.default_rng(seed)
    y = draws.choice(3, n_rows, p=[0.7, 0.15, 0.15])
    low, high = y == 1, y == 2
    columns = {
        "tired": draws.random(n_rows) < np.where(low, 0.6, 0.25),
        "goitre": draws.random(n_rows) < np.where(y > 0, 0.4, 0.1),
        "on medication": draws.random(n_rows) < 0.2,
        "TSH": draws.normal(1.6 * low - 1.2 * high, 1),
        "T3": draws.normal(1.6 * high - 0.8 * low, 1),
        "TT4": draws.normal(1.4 * high - 1.5 * low, 1),
    }
    return pd.DataFrame(columns), np.array(["well", "low", "high"])[y]


def true_curve(model, X, y, costs):
    """Log loss against what was really spent, where the model goes by these costs."""
    truth, prices = np.array([list(model.classes_).index(label) for label in y]), Prices.tensor(model.model_.costs())
    found = []
    for penalty in np.geomspace(1e-3, 0.5, 12):
        acquired = model.acquire(X, stop=Penalty(penalty), costs=costs)
        spent = prices.total(torch.tensor(acquired.known.to_numpy()))
        found.append({"mean_cost": float(spent.mean()), **metrics(model.model_.task, acquired.proba, truth)})
    return pd.DataFrame(found)


def test_at_true_prices_the_area_under_the_curve_is_better_than_where_sharing_is_ignored():
    """Log loss, 0.50 against 0.54: after the first value of the sample, the others cost little."""
    settings = {"hidden": 32, "pretrain_epochs": 10, "epochs": 10, "learning_rate": 0.01, "soft_answers": False}
    model = DimeClassifier(costs=SHARED, lookahead=0, random_state=0, **settings).fit(*thyroid(1000, 0))
    test = thyroid(1500, 1)
    areas = {
        name: area_under_curve(true_curve(model, *test, costs), "log_loss", most=DRAW + 3.15)
        for name, costs in {"shared": None, "ignored": {**EACH, "draw": 0}}.items()
    }
    print(areas)
    assert areas["shared"] < areas["ignored"] - 0.01


def test_budgets_end_at_the_price_of_everything_and_begin_with_the_cheapest_first_question():
    assert (budgets(COSTS)[1], budgets(COSTS)[-1]) == (1.0, 6.0)
    assert calibration_budget(COSTS) == pytest.approx(3.0)
    assert average_costs(COSTS, 6.0, 10)[1] == 1.0


def test_groups_that_share_a_price_are_not_cut_as_equal_ones():
    same = join_costs((1.0, 1.0), [SharedCost("draw", 1.0, (0, 1))])
    assert 2.5 not in budgets(same)
    assert budgets(same)[-1] == 3.0


def test_a_comparison_has_budgets_that_just_buy_the_cheapest_questions_together():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(20, 3)), columns=["a", "b", "c"])
    costs = {"a": 0.5, "b": 0.5, "c": 1.0, "draw": {"price": 4, "for": ["a", "b"]}}
    data = TableData("t", frame, np.arange(20) % 2, costs=costs)
    assert data.schema == Schema.of(frame, costs=costs)
    assert budgets_for(data) == (1.0, 4.5, 5.5, 6.0)
    with pytest.raises(ValueError, match="every budget is above 6"):
        budgets_for(data, [7])
