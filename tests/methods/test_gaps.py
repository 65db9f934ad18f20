"""`fit` finds gaps that tell the answer, warns of them and keeps them with the model."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from askwise import AskwiseWarning, load
from askwise.methods.random_order import RandomOrderClassifier, RandomOrderRegressor

FAST = {"hidden": 8, "epochs": 1, "soft_answers": False, "random_state": 0}


@pytest.fixture(scope="module")
def records():
    """Columns that everybody has, a lab of noise that most of the sick have, and two readings of one panel."""
    rng = np.random.default_rng(0)
    sick = rng.random(600) < 0.5
    frame = pd.DataFrame({name: rng.normal(size=600) for name in ("age", "lactate", "left", "right")})
    frame.loc[rng.random(600) > np.where(sick, 0.8, 0.2), "lactate"] = np.nan
    frame.loc[sick, "left"] = np.nan
    frame.loc[~sick, "right"] = np.nan
    return frame, np.where(sick, "sick", "well")


@pytest.fixture(scope="module")
def fitted(records):
    with pytest.warns(AskwiseWarning, match="'lactate' was recorded in 77% of the rows where the answer is sick"):
        return RandomOrderClassifier(groups={"eyes": ["left", "right"]}, **FAST).fit(*records)


def test_a_panel_is_there_if_any_of_its_columns_is(fitted):
    assert fitted.gaps_["group"].tolist() == ["lactate"]
    assert fitted.gaps_["flagged"].all()


def test_columns_of_the_panel_tell_everything_if_they_are_asked_alone(records):
    with pytest.warns(AskwiseWarning, match="'left' was recorded in 100% of the rows where the answer is well"):
        model = RandomOrderClassifier(**FAST).fit(*records)
    assert model.gaps_["information"].iloc[0] == pytest.approx(np.log(2), abs=0.01)


def test_a_free_column_is_not_asked_and_not_warned_of(records):
    frame, answers = records
    with warnings.catch_warnings():
        warnings.simplefilter("error", AskwiseWarning)
        model = RandomOrderClassifier(free=["lactate"], **FAST).fit(frame[["age", "lactate"]], answers)
    assert "gaps" not in model.model_.card


def test_only_rows_to_learn_from_count(records):
    frame, answers = records
    full = frame[["age", "lactate"]].fillna(0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", AskwiseWarning)
        model = RandomOrderClassifier(**FAST).fit(full, answers, eval_set=(frame[["age", "lactate"]], answers))
    assert model.gaps_.empty


def test_a_number_as_answer_is_told_in_its_own_units(records):
    frame, answers = records
    price = np.where(answers == "sick", 300.0, 200.0) + np.arange(600) / 100
    with pytest.warns(AskwiseWarning, match="where the answer is 30.* and in 1.% of those where it is below 20"):
        RandomOrderRegressor(**FAST).fit(frame[["age", "lactate"]], price)


def test_the_file_keeps_them(fitted, tmp_path):
    fitted.save(tmp_path / "m.askwise")
    again = load(tmp_path / "m.askwise")
    assert again.model_.gaps == fitted.model_.gaps
    pd.testing.assert_frame_equal(again.gaps_, fitted.gaps_)
