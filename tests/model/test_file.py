"""Models as files: what comes back, and what is refused."""

import copy
import json
import os
import pickle
import re

import numpy as np
import pandas as pd
import pytest
import safetensors.numpy
import safetensors.torch
import torch
from safetensors import safe_open
from torch import nn

from askwise import (
    AskwiseError,
    AskwiseWarning,
    AverageCost,
    Budget,
    BundleError,
    Confidence,
    DimeClassifier,
    DimeRegressor,
    Penalty,
    Session,
    load,
)
from askwise.model import file as bundle
from askwise.model.file import FORMAT_VERSION, WITHOUT_SHARED_PRICES
from full_disk import full_disk


@pytest.fixture(scope="module")
def saved(clinic, tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "clinic.askwise"
    clinic.save(path)
    return path


def header_of(path):
    with safe_open(path, framework="pt") as file:
        return json.loads(file.metadata()["askwise"])


def write_with_header(path, source, header):
    safetensors.torch.save_file(safetensors.torch.load_file(source), path, metadata={"askwise": header})
    return path


# What comes back


@pytest.mark.parametrize("stop", [None, Budget(20), Confidence(0.3), Penalty(0.01), AverageCost(12)])
def test_a_loaded_model_gives_bit_equal_results(clinic, saved, cases, stop):
    model = load(saved)
    X, _ = cases
    ours, theirs = clinic.acquire(X, stop=stop), model.acquire(X, stop=stop)
    assert np.array_equal(ours.proba, theirs.proba)
    assert ours.order == theirs.order
    assert np.array_equal(ours.spent, theirs.spent)
    assert ours.reason.tolist() == theirs.reason.tolist()
    assert np.array_equal(clinic.predict_proba(X, stop=stop), model.predict_proba(X, stop=stop))
    assert model.predict(X, stop=stop).dtype == clinic.predict(X, stop=stop).dtype


def test_a_loaded_model_has_the_same_information_curve_and_frontier(clinic, saved, new_cases):
    model = load(saved)
    X, y = new_cases
    pd.testing.assert_frame_equal(model.information(X), clinic.information(X), check_exact=True)
    pd.testing.assert_frame_equal(model.curve(X, y), clinic.curve(X, y), check_exact=True)
    pd.testing.assert_frame_equal(model.frontier_, clinic.frontier_, check_exact=True)


def test_a_loaded_model_is_the_estimator_that_was_saved(clinic, saved):
    model = load(saved)
    assert type(model) is DimeClassifier
    assert model.classes_.tolist() == ["sick", "well"]
    assert model.feature_names_in_.tolist() == clinic.feature_names_in_.tolist()
    assert model.n_features_in_ == clinic.n_features_in_
    assert model.get_params() == clinic.get_params()
    assert model.model_.card == clinic.model_.card
    assert model.session().ask() == clinic.session().ask()
    assert Session.from_answers(model, {"age": 3}).prediction == Session.from_answers(clinic, {"age": 3}).prediction


def test_a_regressor_and_nameless_arrays_survive(progression, diabetes, flowers, iris, tmp_path):
    progression.save(tmp_path / "a")
    flowers.save(tmp_path / "b")
    number, kind = load(tmp_path / "a"), load(tmp_path / "b")
    assert np.array_equal(
        number.predict(diabetes[0], stop=Penalty(9)), progression.predict(diabetes[0], stop=Penalty(9))
    )
    assert np.array_equal(kind.predict(iris[0], stop=Budget(2)), flowers.predict(iris[0], stop=Budget(2)))
    assert not hasattr(kind, "feature_names_in_")


@pytest.mark.parametrize("labels", [("no", "yes"), (0, 1), (False, True), (1.0, 2.0)])
def test_labels_of_every_type_survive(labels, iris, fast, tmp_path):
    model = DimeClassifier(**fast).fit(iris[0][:100], np.array(labels)[iris[1][:100]])
    model.save(tmp_path / "m")
    again = load(tmp_path / "m").predict(iris[0])
    assert again.dtype == model.predict(iris[0]).dtype
    assert np.array_equal(again, model.predict(iris[0]))


@pytest.mark.parametrize("stop", [Budget(2), Penalty(1 / 30), Budget(7 / 3) | Confidence(0.1), AverageCost(2.2)])
def test_the_constructors_rule_survives_exactly(stop, iris, fast, tmp_path):
    model = DimeClassifier(stop=stop, **fast).fit(*iris)
    model.save(tmp_path / "m")
    assert load(tmp_path / "m").stop == stop


class Own:
    def stops(self, step):
        return step.n_asked >= 1


def test_a_rule_of_the_users_own_is_to_be_given_again(iris, fast, tmp_path):
    model = DimeClassifier(stop=Own(), **fast).fit(*iris)
    model.save(tmp_path / "m")
    with pytest.warns(AskwiseWarning, match="stopping rule of your own"):
        again = load(tmp_path / "m")
    assert again.stop is None


def test_a_frontier_for_other_costs_survives(cases, new_cases, fast, tmp_path):
    model = DimeClassifier(**fast).fit(*cases)
    model.frontier(*new_cases, costs={"scan": 1 / 3})
    model.save(tmp_path / "m")
    ours, theirs = (
        m.acquire(new_cases[0], stop=AverageCost(3), costs={"scan": 1 / 3}) for m in (model, load(tmp_path / "m"))
    )
    assert ours.order == theirs.order


@pytest.mark.parametrize(
    "settings",
    [
        {"costs": {0: 5, "x1": 2}, "groups": {"g": [1, 2]}, "free": (3,)},
        {"costs": np.array([1, 2, 3, 4])},
        {"class_weights": {0: 1.0, 1: 2.0, 2: 3.0}},
        {"class_weights": "balanced"},
    ],
)
def test_a_loaded_model_can_be_fitted_again(settings, iris, fast, tmp_path):
    model = DimeClassifier(**settings, **fast).fit(*iris)
    model.save(tmp_path / "m")
    again = load(tmp_path / "m").fit(*iris)
    assert np.array_equal(again.predict_proba(iris[0]), model.predict_proba(iris[0]))


def test_the_file_is_safetensors_with_a_json_header_and_facts(saved):
    header = header_of(saved)
    assert header["format"] == WITHOUT_SHARED_PRICES
    assert header["estimator"]["name"] == "dime-classifier"
    assert header["task"]["labels"] == ["sick", "well"]
    assert header["card"]["rows_trained"] == 240
    assert set(header) >= {"schema", "frontiers", "card", "task", "estimator"}


def test_a_loaded_model_has_the_fingerprint_of_its_file(clinic, saved):
    with safe_open(saved, framework="pt") as file:
        written = file.metadata()["sha256"]
    assert load(saved).model_.fingerprint == bundle.read(saved).fingerprint == written
    assert len(written) == 64
    assert clinic.model_.fingerprint == ""


def test_a_fingerprint_is_of_what_a_file_holds_and_never_in_it(flowers, saved, tmp_path):
    model = load(saved)
    model.save(tmp_path / "again")
    assert load(tmp_path / "again").model_.fingerprint == model.model_.fingerprint
    assert model.model_.fingerprint not in json.dumps(header_of(tmp_path / "again"))
    flowers.save(tmp_path / "other")
    assert load(tmp_path / "other").model_.fingerprint != model.model_.fingerprint
    model.model_.card["target"] = "ill"
    model.save(tmp_path / "changed")
    assert load(tmp_path / "changed").model_.fingerprint != model.model_.fingerprint


def test_the_curves_survive_exactly(clinic, progression, tmp_path):
    for model in (clinic, progression):
        model.save(tmp_path / "m")
        again = load(tmp_path / "m").model_
        assert list(again.curves) == list(model.model_.curves) == [again.costs()]
        pd.testing.assert_frame_equal(again.curves[again.costs()], model.model_.curves[again.costs()], check_exact=True)


def test_a_number_that_is_not_finite_is_null_in_the_file_and_comes_back_as_nan(clinic, tmp_path):
    model = copy.deepcopy(clinic)
    table = model.model_.curves[model.model_.costs()]
    table.loc[0, "auroc"], table.loc[1, "parameter"], table["ece"] = np.nan, np.inf, np.nan
    model.save(tmp_path / "m")
    assert header_of(tmp_path / "m")["curves"][0]["table"]["auroc"][0] is None
    again = load(tmp_path / "m").model_.curves[model.model_.costs()]
    pd.testing.assert_frame_equal(again, table.replace(np.inf, np.nan), check_exact=True)


def test_the_curves_take_little_room(clinic, saved, tmp_path):
    model = copy.deepcopy(clinic)
    model.model_.curves.clear()
    model.save(tmp_path / "m")
    assert saved.stat().st_size - (tmp_path / "m").stat().st_size < 30 * 1024


def test_a_file_from_before_there_were_curves_loads(saved, tmp_path):
    contents = bundle.read(saved)
    text = json.dumps({name: part for name, part in contents.header.items() if name != "curves"})
    digest = bundle._digest(text, safetensors.numpy.save(contents.weights))
    metadata = {bundle.HEADER: text, bundle.DIGEST: digest}
    (tmp_path / "old").write_bytes(safetensors.numpy.save(contents.weights, metadata=metadata))
    assert load(tmp_path / "old").model_.curves == {}


def test_a_saved_model_may_be_read_by_others_as_the_umask_says(clinic, tmp_path):
    clinic.save(tmp_path / "m")
    (tmp_path / "plain").write_text("x")
    assert (tmp_path / "m").stat().st_mode == (tmp_path / "plain").stat().st_mode


# Modules of the user's own


class Net(nn.Module):
    """What a user might write."""

    def __init__(self, n_inputs, n_outputs):
        super().__init__()
        self.layer = nn.Linear(2 * n_inputs, n_outputs)

    def forward(self, x, mask):
        return self.layer(torch.cat([x, mask.to(x.dtype)], 1))


@pytest.fixture(scope="module")
def own_modules(iris, fast, tmp_path_factory):
    path = tmp_path_factory.mktemp("own") / "m"
    model = DimeClassifier(predictor=Net(4, 3), value=Net(4, 4), **fast).fit(*iris)
    model.save(path)
    return model, path


def test_modules_of_ones_own_are_needed_again(own_modules, iris):
    model, path = own_modules
    predictor, value = Net(4, 3), Net(4, 4)
    before = predictor.layer.weight.detach().clone()
    again = load(path, predictor=predictor, value=value)
    assert np.array_equal(again.predict_proba(iris[0], stop=Budget(2)), model.predict_proba(iris[0], stop=Budget(2)))
    assert torch.equal(predictor.layer.weight, before)
    with pytest.raises(
        AskwiseError, match=r"trained with a predictor of your own; give it again: load\(path, predictor="
    ):
        load(path)
    with pytest.raises(AskwiseError, match="value"):
        load(path, predictor=predictor)


def test_modules_of_another_shape_are_refused(own_modules):
    _, path = own_modules
    with pytest.raises(AskwiseError, match=r"predictor\(x, mask\) gave shape \(2, 7\)"):
        load(path, predictor=Net(4, 7), value=Net(4, 4))


def test_modules_of_another_kind_are_refused(own_modules):
    class Other(Net):
        def __init__(self, n_inputs, n_outputs):
            super().__init__(n_inputs, n_outputs)
            self.more = nn.Linear(1, 1)

    with pytest.raises(AskwiseError, match="the predictor and value given for it can't take the weights in the file"):
        load(own_modules[1], predictor=Other(4, 3), value=Net(4, 4))


def test_modules_for_a_model_that_has_none_are_refused(saved):
    with pytest.raises(AskwiseError, match="not trained with a predictor of your own"):
        load(saved, predictor=Net(4, 3))


def test_a_name_in_the_file_is_never_imported(own_modules, tmp_path):
    _, path = own_modules
    header = header_of(path)
    header["estimator"]["name"] = "os.system"
    with pytest.raises(AskwiseError):
        load(write_with_header(tmp_path / "m", path, json.dumps(header)))


# What is refused


class Bomb:
    def __reduce__(self):
        return (os.mkdir, (os.environ["BOMB"],))


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_is_refused_and_not_run(tmp_path, monkeypatch, protocol):
    monkeypatch.setenv("BOMB", str(tmp_path / "went off"))
    (tmp_path / "m").write_bytes(pickle.dumps([Bomb(), "x" * 99], protocol=protocol))
    with pytest.raises(BundleError, match="it is a pickle, which askwise never loads"):
        load(tmp_path / "m")
    assert not (tmp_path / "went off").exists()


def test_a_torch_file_is_refused(tmp_path):
    torch.save({"a": torch.ones(3)}, tmp_path / "m")
    with pytest.raises(BundleError, match="zip archive"):
        load(tmp_path / "m")


def test_a_file_cut_short_anywhere_is_refused(saved, tmp_path):
    content = saved.read_bytes()
    cuts = {0, 1, 7, 8, 9, 100, *range(0, len(content), max(1, len(content) // 60)), len(content) - 1}
    for cut in cuts:
        (tmp_path / "m").write_bytes(content[:cut])
        with pytest.raises(BundleError, match="not a whole askwise model"):
            load(tmp_path / "m")


def test_a_damaged_header_is_refused(saved, tmp_path):
    """One bit anywhere in the header, also one that leaves it readable: a price of 40 that became 41."""
    content = bytearray(saved.read_bytes())
    size = int.from_bytes(content[:8], "little")
    for at in np.random.default_rng(0).integers(0, 8 + size, size=150):
        damaged = bytearray(content)
        damaged[at] ^= 1 << (int(at) % 8)
        (tmp_path / "m").write_bytes(damaged)
        with pytest.raises(AskwiseError):
            load(tmp_path / "m")


def test_a_damaged_weight_is_refused(saved, tmp_path):
    content = bytearray(saved.read_bytes())
    content[-100] ^= 0xFF
    (tmp_path / "m").write_bytes(content)
    with pytest.raises(BundleError):
        load(tmp_path / "m")


def test_safetensors_from_another_program_are_refused(tmp_path):
    for metadata in (None, {"format": "pt"}):
        safetensors.torch.save_file({"w": torch.ones(3)}, tmp_path / "m", metadata=metadata)
        with pytest.raises(BundleError, match="from another program, not an askwise model"):
            load(tmp_path / "m")


@pytest.mark.parametrize("content", [b"hello, world\n" * 50, b"\x00" * 64, b"\xff" * 64, b"PAR1" * 20, b"{}"])
def test_other_files_are_refused(tmp_path, content):
    (tmp_path / "m").write_bytes(content)
    with pytest.raises(BundleError, match="not a whole askwise model"):
        load(tmp_path / "m")


def test_a_newer_format_says_upgrade(saved, tmp_path):
    header = {**header_of(saved), "format": FORMAT_VERSION + 1}
    with pytest.raises(BundleError, match="upgrade askwise"):
        load(write_with_header(tmp_path / "m", saved, json.dumps(header)))


@pytest.mark.parametrize(
    "header", ["[]", "3", "null", "{", '{"format": "new"}', "{}", '{"format": 1, "estimator": []}']
)
def test_a_header_that_makes_no_sense_is_refused(saved, tmp_path, header):
    with pytest.raises(BundleError):
        load(write_with_header(tmp_path / "m", saved, header))


@pytest.mark.parametrize("part", ["estimator", "schema", "task", "frontiers", "spending", "curves"])
@pytest.mark.parametrize("value", [None, "text", [1], {"x": [1, 2]}])
def test_a_header_with_a_wrong_part_is_refused(saved, tmp_path, part, value):
    path = write_with_header(tmp_path / "m", saved, json.dumps({**header_of(saved), part: value}))
    with pytest.raises(AskwiseError, match=re.escape(str(path))):
        load(path)


def test_a_missing_file_and_a_folder_are_errors(tmp_path):
    with pytest.raises(BundleError, match=r"there is no model file .*none\.askwise"):
        load(tmp_path / "none.askwise")
    with pytest.raises(BundleError, match="is a folder"):
        load(tmp_path)


# Written whole or not at all


def test_saving_over_a_model_replaces_it_and_leaves_nothing_else(clinic, flowers, tmp_path):
    flowers.save(tmp_path / "m")
    clinic.save(tmp_path / "m")
    assert load(tmp_path / "m").classes_.tolist() == ["sick", "well"]
    assert [p.name for p in tmp_path.iterdir()] == ["m"]


def test_a_reader_of_the_old_file_is_not_disturbed_by_a_save(clinic, flowers, tmp_path):
    """The new file takes the old one's place at once; it is not written over it."""
    flowers.save(tmp_path / "m")
    content = (tmp_path / "m").read_bytes()
    with open(tmp_path / "m", "rb") as reader:
        clinic.save(tmp_path / "m")
        assert reader.read() == content


def test_a_failed_save_leaves_the_old_file_and_no_other(clinic, tmp_path):
    old = tmp_path / "old.askwise"
    old.write_bytes(b"the model that was there")
    with full_disk(), pytest.raises(AskwiseError, match=r"old\.askwise.*nothing was changed"):
        clinic.save(old)
    assert old.read_bytes() == b"the model that was there"
    assert [p.name for p in tmp_path.iterdir()] == ["old.askwise"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_full_disk_says_that_no_space_is_left(clinic, tmp_path, monkeypatch):
    """Every write of the temporary file goes to a device that is full."""
    from askwise.data import whole_file as files

    real = files.tempfile.mkstemp

    def on_full_disk(*args, **kwargs):
        handle, name = real(*args, **kwargs)
        os.unlink(name)
        os.symlink("/dev/full", name)
        return handle, name

    monkeypatch.setattr(files.tempfile, "mkstemp", on_full_disk)
    with pytest.raises(AskwiseError, match=r"no space left to write .*; nothing was changed"):
        clinic.save(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_can_not_be_written_is_an_error(clinic, tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(AskwiseError, match=r"can't write .*; nothing was changed"):
        clinic.save(tmp_path / "file" / "m")
    with pytest.raises(AskwiseError, match="can't write"):
        clinic.save(tmp_path)


def test_a_folder_that_is_not_there_is_made(clinic, tmp_path):
    clinic.save(tmp_path / "new" / "m")
    assert load(tmp_path / "new" / "m").classes_.tolist() == ["sick", "well"]


def test_a_model_that_is_not_fitted_can_not_be_saved(tmp_path):
    for model in (DimeClassifier(), DimeRegressor()):
        with pytest.raises(Exception, match="not fitted"):
            model.save(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []
