"""`--weights COLUMN` of train, evaluate and compare: the column counts rows and is no question."""

import json

import numpy as np
import pandas as pd
import pytest

from askwise import load


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.standard_normal(240), "b": rng.standard_normal(240)})
    frame["y"] = np.where(frame["a"] + rng.standard_normal(240) > 0, "sick", "well")
    frame["w"] = rng.integers(0, 3, 240)
    path = tmp_path_factory.mktemp("weights") / "cases.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def model(table, run, tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "m.askwise"
    said = run("train", table, "-t", "y", "--weights", "w", "--epochs", "2", "-o", path, "--json")
    assert said.exit_code == 0, said.output
    return path


def test_the_column_of_weights_is_no_question_and_the_card_tells_of_it(model, table):
    fitted, weights = load(model), pd.read_csv(table)["w"]
    assert fitted.model_.schema.column_names == ("a", "b")
    card = fitted.model_.card
    assert card["weights"] == "w"
    assert card["rows_trained"] + card["rows_validated"] == (weights > 0).sum()
    assert card["effective_rows"]["trained"] < card["rows_trained"]


def test_evaluate_weighs_rows_as_python_does(model, table, run):
    frame = pd.read_csv(table)
    said = json.loads(run("evaluate", model, table, "--weights", "w", "--bootstrap", "0", "--json").stdout)
    curve = load(model).curve(frame[["a", "b"]], frame["y"], sample_weight=frame["w"])
    assert [point["accuracy"] for point in said["curve"]] == pytest.approx(curve["accuracy"].tolist())
    assert said["rows"] == (frame["w"] > 0).sum()


def test_a_report_under_weights_has_the_same_curve(model, table, run, tmp_path):
    pytest.importorskip("matplotlib")
    frame = pd.read_csv(table)
    run("evaluate", model, table, "--weights", "w", "--bootstrap", "0", "--report", tmp_path / "report")
    curve = load(model).curve(frame[["a", "b"]], frame["y"], sample_weight=frame["w"])
    assert pd.read_csv(tmp_path / "report" / "curve.csv")["accuracy"].tolist() == pytest.approx(
        curve["accuracy"].tolist()
    )


def test_info_tells_how_many_rows_the_weighted_ones_are_worth(model, run):
    assert "equal ones to learn from" in run("info", model).stdout


@pytest.mark.parametrize(("column", "message"), [("W", "did you mean 'w'"), ("y2", "unknown column in --weights")])
def test_a_column_that_is_not_there_is_told(column, message, table, run):
    assert message in run("train", table, "-t", "y", "--weights", column).stderr


def test_a_column_of_texts_can_not_be_weights(table, run, tmp_path):
    texts = pd.read_csv(table).assign(w="heavy")
    texts.to_csv(tmp_path / "texts.csv", index=False)
    said = run("train", tmp_path / "texts.csv", "-t", "y", "--weights", "w").stderr
    assert "the column 'w' of --weights must hold numbers, it holds 'heavy' in line 2" in said


@pytest.mark.parametrize(("given", "what"), [(-1, "negative"), (None, "missing or not finite")])
def test_a_weight_that_can_not_be_is_named_by_its_line(given, what, table, run, tmp_path):
    frame = pd.read_csv(table)
    frame.loc[3, "w"] = given
    frame.to_csv(tmp_path / "wrong.csv", index=False)
    said = run("train", tmp_path / "wrong.csv", "-t", "y", "--weights", "w").stderr
    assert f"the column 'w' of --weights is {what} in 1 row, first in line 5" in said


@pytest.mark.parametrize("option", ["--free", "--drop", "--split-by", "--costs"])
def test_a_column_of_weights_is_nothing_else(option, table, run, tmp_path):
    (tmp_path / "costs.json").write_text('{"w": 3}')
    value = tmp_path / "costs.json" if option == "--costs" else "w"
    said = run("train", table, "-t", "y", "--weights", "w", option, value).stderr
    assert "the column 'w' is taken as the weights of the rows (--weights)" in said
    assert f"leave it out of {option}" in said


def test_evaluate_says_that_training_had_weights(model, table, run):
    words = ("evaluate", model, table, "--bootstrap", "0", "--json")
    assert "was trained with --weights w; give it here too" in run(*words).stderr
    assert "was trained with" not in run(*words, "--weights", "w").stderr


def test_train_warns_of_few_held_out_rows_under_weights(table, run, tmp_path):
    words = ("train", table, "-t", "y", "--epochs", "1", "-o", tmp_path / "m.askwise")
    assert "rows held out are worth" in run(*words, "--weights", "w").stderr
    assert "rows held out are worth" not in run(*words, "--drop", "w").stderr


def test_compare_fits_and_tests_under_weights(table, run, tmp_path):
    said = run(
        "compare", table, "-t", "y", "--weights", "w", "--methods", "dime,boosting-best-k,linear-lasso,all-features",
        "--seeds", "1", "--epochs", "1", "--budgets", "1", "--jobs", "1", "-o", tmp_path / "out", "--json",
    )  # fmt: skip
    found = json.loads(said.stdout)
    assert not found["failed"]
    assert {record["method"] for record in found["results"]} >= {"dime", "boosting-best-k", "linear-lasso"}


def test_decisions_count_rows_by_their_weights_and_say_so(model, table, run):
    frame = pd.read_csv(table)
    asked = ["evaluate", model, table, "--weights", "w", "--bootstrap", "0", "--stop", "budget=9"]
    said = json.loads(run(*asked, "--json").stdout)["decisions"]
    fitted = load(model)
    called = fitted.predict_proba(frame[["a", "b"]])[:, list(fitted.classes_).index(said["label"])] >= 0.5
    is_label = frame["y"] == said["label"]
    assert said["confusion"]["called"]["is"] == frame["w"][called & is_label].sum()
    sensitivity = np.average(called[is_label], weights=frame["w"][is_label])
    assert said["measures"]["sensitivity"]["value"] == pytest.approx(sensitivity)
    text = run(*asked).stdout
    assert text.count("worth") == 2
    assert f"--positive {said['other']}" in text
