"""ONNX files: the same predictions, values and choices as torch, for programs that have neither torch nor askwise."""

from __future__ import annotations

import json
import logging
import sys
import warnings

import numpy as np
import onnxruntime
import pytest
import torch
from sklearn.exceptions import NotFittedError
from torch import nn

import askwise
from askwise import AskwiseError, DimeClassifier, DimeImageClassifier, sketch
from askwise.core.ranking import value_per_cost
from askwise.data.tables.column import WIDEST
from askwise.data.tables.schema import Schema
from pictures import FAST_IMAGES, make_images

ONCE = {"hidden": 8, "pretrain_epochs": 1, "epochs": 1, "random_state": 0}


def opened(path):
    return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])


def run(session, x, mask, costs):
    return session.run(["prediction", "values"], {"x": x.numpy(), "mask": mask.numpy(), "costs": costs.numpy()})


def states(model, n, seed=0):
    """Encoded rows and random sets of known columns, of every size."""
    space, draws = model.schema.space, torch.Generator().manual_seed(seed)
    x = torch.randn(n, space.n_entries, generator=draws).clamp(-WIDEST, WIDEST)
    share = torch.rand(n, 1, generator=draws)
    return x, torch.rand(n, space.n_columns, generator=draws) < share


def by_torch(model, x, mask, costs):
    """Prediction and values as sessions and evaluation get them, in float64."""
    with torch.no_grad():
        belief = model.running_policy(x.double(), mask)
        values = value_per_cost(belief.scores, costs.double(), model.policy.is_information)
        return model.task.decode(belief.outputs), values.numpy()


def assert_same(model, session, x, mask, costs):
    prediction, values = run(session, x, mask, costs)
    expected, worth = by_torch(model, x, mask, costs)
    # Units of the answers: 1 for classes, else the deviation of y, whose square is that of information.
    unit = model.task.unit
    np.testing.assert_allclose(prediction, expected, rtol=0, atol=1e-5 * unit**0.5)
    np.testing.assert_allclose(values, worth, rtol=0, atol=1e-5 * unit)
    second, best = np.sort(worth, axis=1)[:, -2:].T
    clear = best - second > 1e-6 * unit
    assert clear.mean() > 0.5
    assert (values.argmax(1) == worth.argmax(1))[clear].all()


@pytest.fixture(scope="module", params=["clinic", "shared", "flowers", "progression"])
def exported(request, cases, tmp_path_factory):
    """Estimators of several kinds, each with its file."""
    if request.param == "shared":
        settings = {"costs": {"scan": 40}, "groups": {"exercise test": ["rate", "pain"]}, "free": ["age", "sex"]}
        estimator = DimeClassifier(**settings, share_trunk=True, **ONCE).fit(*cases)
    else:
        estimator = request.getfixturevalue(request.param)
    path = tmp_path_factory.mktemp("onnx") / "model.onnx"
    estimator.export_onnx(path)
    return estimator, path


def test_the_file_agrees_with_torch_on_ten_thousand_states_in_batches_of_any_size(exported):
    estimator, path = exported
    model, session = estimator.model_, opened(path)
    costs = torch.tensor(model.schema.space.costs)
    for n, seed in ((1, 1), (5000, 2), (4999, 3)):
        assert_same(model, session, *states(model, n, seed), costs)


def test_the_file_takes_other_costs_when_it_runs(exported):
    estimator, path = exported
    model, session = estimator.model_, opened(path)
    x, mask = states(model, 2000)
    costs = torch.rand(model.schema.space.n_groups) * 10 + 0.1
    assert_same(model, session, x, mask, costs)
    ones = torch.ones_like(costs)
    np.testing.assert_allclose(
        run(session, x, mask, costs)[1], run(session, x, mask, ones)[1] / costs.numpy(), rtol=1e-6
    )


def test_what_is_not_known_is_hidden_by_the_file_itself(exported):
    estimator, path = exported
    model, session = estimator.model_, opened(path)
    x, mask = states(model, 100)
    costs = torch.tensor(model.schema.space.costs)
    hidden = torch.where(mask[:, torch.tensor(model.schema.space.column_of_entry)], x, 0.0)
    for full, bare in zip(run(session, x, mask, costs), run(session, hidden, mask, costs), strict=True):
        np.testing.assert_array_equal(full, bare)


def test_metadata_hold_the_schema_and_the_labels(exported):
    estimator, path = exported
    facts = opened(path).get_modelmeta().custom_metadata_map
    assert Schema.from_dict(json.loads(facts["schema"])) == estimator.model_.schema
    assert facts["askwise_version"] == askwise.__version__
    assert facts["kind"] == estimator.model_.task.kind
    assert float(facts["widest"]) == WIDEST
    labels = estimator.classes_.tolist() if hasattr(estimator, "classes_") else None
    assert json.loads(facts.get("labels", "null")) == labels


@pytest.mark.parametrize(("channels", "prior"), [(3, "sketch"), (1, None)])
def test_metadata_of_images_are_enough_to_fill_a_row(tmp_path, channels, prior):
    """With height and width that differ: the order of both is told."""
    X, y = make_images(60)
    X = X[:, :12, :, :channels]
    m = DimeImageClassifier(**{**FAST_IMAGES, "epochs": 1, "pretrain_epochs": 1, "prior": prior}).fit(X, y)
    m.export_onnx(tmp_path / "model.onnx")
    graph = opened(tmp_path / "model.onnx")
    facts = graph.get_modelmeta().custom_metadata_map
    encoding, costs = json.loads(facts["encoding"]), json.loads(facts["schema"])["costs"]
    assert "widest" not in facts
    assert (encoding["layout"], encoding["shape"]) == (["channels", "height", "width"], [channels, 12, 16])
    assert encoding["questions"] == list(m.model_.schema.space.names)
    assert all(words in encoding["x"] for words in ("12 rows x 16 columns", "0 to 255 as float32, not normalised"))
    x = np.zeros(graph.get_inputs()[0].shape[1:], np.float32)
    x[: np.prod(encoding["shape"])] = X[0].transpose(2, 0, 1).ravel()
    if prior is not None:
        assert encoding["sketch"]["shape"] == [12, 16]
        assert encoding["mask"][-1] == "sketch"
        assert "sketch" in encoding["x"]
        x[encoding["sketch"]["start"] :] = sketch(X[0]).ravel()
    mask = np.ones((1, len(encoding["mask"])), bool)
    given = {"x": x[None], "mask": mask, "costs": np.array(costs, np.float32)}
    np.testing.assert_allclose(graph.run(None, given)[0], m.predict_proba(X[:1]), atol=1e-4)
    mask[0, : len(encoding["questions"])] = False
    session = m.session(known={"sketch": sketch(X[0])} if prior else None)
    proba = list(session.prediction.proba.values())
    np.testing.assert_allclose(graph.run(None, given)[0], [proba], atol=1e-4)


def test_export_writes_one_file_that_names_no_file_of_this_machine(exported):
    _, path = exported
    assert [p.name for p in path.parent.iterdir()] == ["model.onnx"]
    for words in (b".py", b"site-packages", b"forward"):
        assert words not in path.read_bytes()


def test_export_is_silent_and_leaves_warnings_and_logs_as_they_were(flowers, tmp_path, capfd):
    before = logging.getLogger("torch").level, list(warnings.filters)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        flowers.export_onnx(tmp_path / "model.onnx")
    assert capfd.readouterr() == ("", "")
    assert not caught
    assert (logging.getLogger("torch").level, list(warnings.filters)) == before


def test_a_large_mean_of_the_answers_does_not_round_the_prediction(diabetes, tmp_path):
    X, y = diabetes
    m = askwise.DimeRegressor(**ONCE).fit(X, y + 1e9)
    m.export_onnx(tmp_path / "model.onnx")
    x, mask = states(m.model_, 100)
    costs = torch.ones(m.model_.schema.space.n_groups)
    found = run(opened(tmp_path / "model.onnx"), x, mask, costs)[0]
    np.testing.assert_allclose(found - 1e9, by_torch(m.model_, x, mask, costs)[0] - 1e9, atol=1e-3)


def test_an_unfitted_estimator_is_not_exported(tmp_path):
    with pytest.raises(NotFittedError):
        DimeClassifier().export_onnx(tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


def test_a_place_that_cannot_be_written_is_an_error_that_leaves_nothing(flowers, tmp_path):
    (tmp_path / "file").touch()
    for path in (tmp_path, tmp_path / "file" / "model.onnx"):
        with pytest.raises(AskwiseError, match="can't write"):
            flowers.export_onnx(path)
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_without_the_packages_the_error_says_how_to_install_them(flowers, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    with pytest.raises(AskwiseError, match=r"pip install 'askwise\[onnx\]'"):
        flowers.export_onnx(tmp_path / "model.onnx")


class Own(nn.Module):
    """A network of the user's own; subclasses change what it gives."""

    def __init__(self, n_outputs):
        super().__init__()
        self.layer = nn.Linear(8, n_outputs)

    def forward(self, x, mask):
        return self.change(torch.tanh(self.layer(torch.cat([x, mask.to(x.dtype)], 1))))

    def change(self, out):
        return out


class Branches(Own):
    def change(self, out):
        return out if float(out.detach().sum()) > 0 else -out


class OneSize(Own):
    def change(self, out):
        return out + torch.zeros(len(out), 1)


class NoSuchOperation(Own):
    def change(self, out):
        return out + torch.special.bessel_j0(out.detach())


class Random(Own):
    def change(self, out):
        return out + torch.rand_like(out)


def own(iris, predictor):
    return DimeClassifier(predictor=predictor, value=Own(4), **{k: v for k, v in ONCE.items() if k != "hidden"}).fit(
        *iris
    )


def test_networks_of_the_users_own_are_exported(iris, tmp_path):
    m = own(iris, Own(3))
    m.export_onnx(tmp_path / "model.onnx")
    assert_same(m.model_, opened(tmp_path / "model.onnx"), *states(m.model_, 1000), torch.ones(4))


@pytest.mark.parametrize(
    ("module", "why"),
    [
        (Branches, "data-dependent"),
        (OneSize, r"one size of batch only; say x\.shape\[0\]"),
        (NoSuchOperation, "bessel_j0"),
        (Random, "onnxruntime gives other predictions than torch"),
    ],
)
def test_a_network_that_cannot_be_exported_is_named_with_the_reason(iris, tmp_path, capfd, module, why):
    m = own(iris, module(3))
    capfd.readouterr()
    with pytest.raises(AskwiseError, match=rf"'networks\.predictor' \(a {module.__name__}\).*{why}"):
        m.export_onnx(tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())
    assert capfd.readouterr() == ("", "")
