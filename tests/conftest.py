"""Data and fitted models that many tests share; each is made once."""

from __future__ import annotations

import gc

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.datasets import load_diabetes, load_iris

from askwise import DimeClassifier, DimeRegressor
from askwise.core.belief import Belief
from askwise.core.features import FeatureSpace
from askwise.core.policy import Policy
from implausible_values import QUESTIONS, with_codes
from small_pictures import real_size, small_pictures

__all__ = ["real_size", "small_pictures"]


def pytest_collection_finish():
    """What was imported stays: the garbage collector need not look at it again and again."""
    gc.collect()
    gc.freeze()


FAST = {"hidden": 16, "pretrain_epochs": 8, "epochs": 8, "learning_rate": 0.01, "random_state": 0}


def make_cases(n_rows: int = 300, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """A table as a clinic keeps it: numbers, texts, yes/no, a constant column, a panel, holes; a text for an answer."""
    rng = np.random.default_rng(seed)
    sick = rng.random(n_rows) < 0.4
    frame = pd.DataFrame(
        {
            "age": rng.normal(50 + 8 * sick, 10).round(),
            "sex": rng.choice(["female", "male"], n_rows),
            "pressure": rng.normal(120 + 25 * sick, 10),
            "rate": rng.normal(150 - 20 * sick, 15),
            "pain": np.where(rng.random(n_rows) < 0.3, "none", np.where(sick, "often", "seldom")),
            "smoker": np.where(sick, rng.random(n_rows) < 0.6, rng.random(n_rows) < 0.3),
            "scan": rng.normal(3 * sick, 1),
            "site": np.full(n_rows, 7),
        }
    )
    for name in ("age", "pressure", "rate", "pain", "scan"):
        frame.loc[rng.random(n_rows) < 0.12, name] = np.nan
    return frame, np.where(sick, "sick", "well")


@pytest.fixture(scope="session")
def fast():
    """Settings that train in a fraction of a second."""
    return dict(FAST)


@pytest.fixture(scope="session")
def cases():
    return make_cases()


@pytest.fixture(scope="session")
def new_cases():
    """Rows of the same kind that no model was fitted on."""
    return make_cases(80, seed=1)


@pytest.fixture(scope="session")
def clinic(cases):
    """A classifier with prices, a panel of two columns and a free column, on rows with holes."""
    return DimeClassifier(
        costs={"scan": 40, "exercise test": 15, "pressure": 2.5},
        groups={"exercise test": ["rate", "pain"]},
        free=["age"],
        **FAST,
    ).fit(*cases)


@pytest.fixture(scope="session")
def limited(cases):
    """A classifier whose questions limit what may be answered."""
    frame, answers = cases
    return DimeClassifier(questions=QUESTIONS, free=["age"], **FAST).fit(with_codes(frame), answers)


@pytest.fixture(scope="session")
def far_sighted(cases):
    """The clinic's classifier, which also learns what the questions after each one bring."""
    return DimeClassifier(
        costs={"scan": 40, "exercise test": 15, "pressure": 2.5},
        groups={"exercise test": ["rate", "pain"]},
        free=["age"],
        lookahead=0.5,
        **FAST,
    ).fit(*cases)


@pytest.fixture(scope="session")
def blood(cases):
    """The clinic's classifier, where the pressure and the scan share a price that is paid once."""
    return DimeClassifier(
        costs={"scan": 4, "smoker": 2, "draw": {"price": 2.0, "for": ["scan", "pressure"]}},
        groups={"exercise test": ["rate", "pain"]},
        free=["age"],
        **FAST,
    ).fit(*cases)


@pytest.fixture(scope="session")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="session")
def flowers(iris):
    """A classifier of three classes on an array without names, all groups at the same price."""
    return DimeClassifier(**FAST).fit(*iris)


@pytest.fixture(scope="session")
def diabetes():
    return load_diabetes(return_X_y=True, as_frame=True)


@pytest.fixture(scope="session")
def progression(diabetes):
    """A regressor with unequal prices."""
    return DimeRegressor(costs={"bmi": 2, "s5": 10}, lookahead=0, **FAST).fit(*diabetes)


class TablePolicy(Policy):
    """A policy whose scores are given: the same in every state, or looked up by the set of known columns."""

    def __init__(self, costs, scores, outputs=(0.0, 0.0), is_information=True, by_known=None):
        n = len(costs)
        super().__init__(FeatureSpace(tuple(f"g{i}" for i in range(n)), tuple(costs), tuple(range(n)), tuple(range(n))))
        self.is_information = is_information
        self.scores = torch.tensor(scores, dtype=torch.float64)
        self.outputs = torch.tensor(outputs, dtype=torch.float64)
        self.by_known = by_known or {}

    def forward(self, x, mask, scores=True):
        found = [self.by_known.get(tuple(np.flatnonzero(m)), self.scores.tolist()) for m in mask.numpy()]
        outputs = self.outputs.expand(len(x), -1)
        return Belief(outputs, torch.tensor(found, dtype=torch.float64) if scores else None)


@pytest.fixture(scope="session")
def table_policy():
    return TablePolicy
