"""Numbers in piecewise-linear parts: what networks read of them, and every faster way to the same outputs."""

import numpy as np
import pandas as pd
import pytest
import torch

from askwise import METHODS, Budget, DimeClassifier, DimeRegressor, NumpyModel, Session, load
from askwise.core.errors import AskwiseError
from askwise.core.features import FeatureSpace
from askwise.networks.encoding import InputEncoding

SPACE = FeatureSpace(("a", "b"), (1.0, 1.0), (0, 1), (0, 1), edges=((-1.0, 0.0, 2.0), ()))


def inputs_of(x, mask):
    return InputEncoding(SPACE).double()(torch.tensor([x]).double(), torch.tensor([mask]))[0].tolist()


def test_a_part_rises_from_0_to_1_between_its_edges():
    assert inputs_of([-0.5, 3.0], [True, True]) == [-0.5, 3.0, 1, 1, 0.5, 0.0]
    assert inputs_of([0.5, 3.0], [True, True]) == [0.5, 3.0, 1, 1, 1.0, 0.25]


def test_a_value_beyond_the_edges_counts_as_the_edge():
    assert inputs_of([600.0, 0.0], [True, False]) == inputs_of([2.0, 0.0], [True, False])
    assert inputs_of([-600.0, 0.0], [True, False]) == inputs_of([-1.0, 0.0], [True, False])


def test_what_is_unknown_has_no_part():
    assert inputs_of([0.0, 0.0], [False, False]) == [0, 0, 0, 0, 0, 0]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(600, 4)), columns=list("abcd"))
    X["zeros"] = np.where(rng.random(600) < 0.7, 0.0, rng.random(600))
    X["kind"] = rng.choice(["x", "y", "z"], 600)
    y = (np.sin(3 * X["a"]) + (X["zeros"] > 0.5) + 0.3 * rng.normal(size=600) > 0).astype(int)
    X.loc[::5, "b"] = np.nan
    return X, y


@pytest.fixture(scope="module", params=[0.0, 0.6], ids=["one step", "looks ahead"])
def model(request, table):
    groups = {"panel": ["c", "d"]}
    return DimeClassifier(
        encoding=8, groups=groups, free=["kind"], lookahead=request.param, hidden=16, epochs=3, random_state=0
    ).fit(*table)


def test_edges_lie_at_quantiles_and_a_frequent_value_takes_one_part(model):
    columns = {column.name: column for column in model.model_.schema.columns}
    assert len(columns["a"].edges) == 9
    # Seven of ten values are 0: the others still have their parts.
    assert len(columns["zeros"].edges) >= 4
    assert columns["kind"].edges == ()


def test_first_layers_summed_by_group_are_those_of_each_state(model, table):
    policy = model.model_.running_policy
    rows = model.encode(table[0]).to("cpu", torch.float64).take(slice(0, 40))
    known = torch.rand(5, *rows.available.shape, generator=torch.Generator().manual_seed(0)) < 0.5
    mask = policy.mask(known, rows.present).flatten(0, 1)
    plain = policy.networks.first(policy.hide(rows.x.repeat(5, 1), mask), mask)
    assert policy.group_inputs.sums_pay
    assert torch.allclose(policy.first_of_states(rows, known), plain, atol=1e-12)


def test_a_file_and_a_session_without_torch_ask_the_same(model, table, tmp_path):
    X = table[0].head(60)
    model.save(tmp_path / "m.askwise")
    asked = model.acquire(X, Budget(3))
    loaded = load(tmp_path / "m.askwise").acquire(X, Budget(3))
    assert loaded.order == asked.order
    assert np.allclose(loaded.proba, asked.proba)
    numpy_model = NumpyModel.load(tmp_path / "m.askwise")
    for i, expected in enumerate(asked.order):
        session = Session(numpy_model, Budget(3), known={"kind": X["kind"].iloc[i]})
        order = []
        while (question := session.ask()) is not None:
            values = {c.name: X[c.name].iloc[i] for c in question.columns}
            if all(pd.isna(value) for value in values.values()):
                session.decline(question.name)
            else:
                order.append(question.name)
                session.tell(question.name, values if len(values) > 1 else next(iter(values.values())))
        assert order == expected
        assert list(session.prediction.proba.values()) == pytest.approx(asked.proba[i].tolist(), abs=1e-6)


def test_it_can_be_written_as_onnx(model, tmp_path):
    model.export_onnx(tmp_path / "m.onnx")


def test_a_wave_is_learnt_better_in_parts():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (2000, 2))
    y = np.sin(9 * X[:, 0])
    raw, parts = (
        DimeRegressor(encoding=encoding, hidden=16, epochs=8, random_state=0).fit(X, y).score(X, y)
        for encoding in ("raw", 16)
    )
    assert parts > raw + 0.1


@pytest.mark.parametrize("encoding", ["ranks of", 1, 2.5, True, None])
def test_an_encoding_that_can_not_be_is_told(encoding, table):
    with pytest.raises(AskwiseError, match=r"encoding must be 'auto', 'raw' or a whole number of at least 2"):
        DimeClassifier(encoding=encoding).fit(*table)


@pytest.mark.parametrize("method", [name for name in METHODS if name.endswith("-classifier")])
def test_every_method_reads_parts_or_says_that_it_can_not(method, table):
    X, y = table[0].drop(columns="kind").fillna(0.0), table[1]
    settings = {"encoding": 4, "hidden": 4, "epochs": 1, "pretrain_epochs": 1, "selection_epochs": 1, "random_state": 0}
    model = METHODS[method]()
    model.set_params(**{name: value for name, value in settings.items() if name in model.get_params()})
    if method.startswith("eddi"):
        with pytest.raises(AskwiseError, match="encoding=4 can't be used"):
            model.fit(X, y)
    else:
        assert len(model.fit(X, y).acquire(X.head(3)).order) == 3
