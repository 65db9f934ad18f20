"""What `askwise train` suggests to try next, and that it never suggests what can not help."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from askwise.cli.suggestion import suggest
from askwise.cli.train import _warn_if_nothing_learnt

COSTS = np.arange(14.0)


def frontier(loss: np.ndarray) -> pd.DataFrame:
    facts = {"average_cost": COSTS, "mean_cost": COSTS, "mean_groups": COSTS, "penalty": 0.1}
    return pd.DataFrame({**facts, "log_loss": loss})


def test_the_suggestion_says_why_in_numbers():
    """Four questions take 0.56 of 0.605 nats off."""
    found = suggest(frontier(0.7 - 0.14 * np.minimum(COSTS, 4) - 0.005 * np.maximum(COSTS - 4, 0)))
    assert found.rule == "average-cost=4"
    assert found.why == "4 of 13 questions (31% of the cost) bring 93% of what everything brings in log loss"


def test_a_curve_without_a_bend_is_said_to_have_none():
    found = suggest(frontier(0.7 - 0.05 * COSTS), "patch")
    assert found.rule == "average-cost=10"
    assert "10 of 13 patches" in found.why
    assert "no bend, each patch brings about as much" in found.why


def test_where_asking_brings_nothing_no_rule_is_suggested():
    found = suggest(frontier(0.7 + 0.001 * COSTS))
    assert (found.rule, "asking brings nothing" in found.why) == (None, True)


@pytest.mark.usefixtures("folder")
def test_training_suggests_a_rule_that_spends_at_most_80_percent(run, fast):
    made = run("train", "cases.csv", "--target", "diagnosis", "--drop", "patient", *fast, "-o", "m.askwise")
    facts = json.loads(run("info", "m.askwise", "--json").stdout)
    everything = max(record["mean_cost"] for record in facts["frontier"])
    (line,) = (line for line in made.stdout.splitlines() if "askwise ask" in line)
    assert float(line.split("average-cost=")[1]) <= 0.81 * everything
    assert "of what everything brings" in made.stdout or "more than everything" in made.stdout


class Estimator:
    """What the warning looks at: a model that has learnt nothing."""

    def __init__(self) -> None:
        loss = {"log_loss": 0.7, "accuracy": 0.5}
        self.frontier_ = pd.DataFrame([{"mean_cost": 0.0, **loss}])
        self.card = {"validation": loss, "rows_validated": 50}
        self.model_ = self


class Notes:
    def __init__(self) -> None:
        self.said = ""

    def note(self, text: str) -> None:
        self.said += text


@pytest.mark.parametrize("stopped_early", [True, False])
def test_longer_training_is_not_suggested_where_it_ended_by_itself(stopped_early):
    notes = Notes()
    _warn_if_nothing_learnt(notes, Estimator(), stopped_early)
    assert "on more cases" in notes.said
    assert ("longer" in notes.said) == (not stopped_early)
