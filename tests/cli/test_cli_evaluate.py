"""`askwise evaluate`: what it accepts, measures and writes."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from askwise import load

pytestmark = pytest.mark.usefixtures("folder")
EVALUATE = ("evaluate", "heart.askwise", "test.csv")


@pytest.fixture(scope="module")
def reported(run, trained, tmp_path_factory):
    """A report of the model: its facts, and its folder. Not to be written into."""
    pytest.importorskip("matplotlib")
    report = tmp_path_factory.mktemp("reported") / "report"
    said = run(
        "evaluate", trained / EVALUATE[1], trained / EVALUATE[2], "--report", report, "--bootstrap", 10, "--json"
    )
    assert said.exit_code == 0, said.stderr
    return json.loads(said.stdout), report


def test_evaluate_gives_the_curve_of_the_library(run):
    said = run("evaluate", "heart.askwise", "test.csv", "--bootstrap", "0", "--json")
    facts = json.loads(said.stdout)
    estimator, table = load("heart.askwise"), pd.read_csv("test.csv")
    X = table[list(estimator.feature_names_in_)]
    expected = estimator.curve(X, table["diagnosis"])
    assert facts["rows"] == len(table)
    assert [r["accuracy"] for r in facts["curve"]] == expected["accuracy"].tolist()


def test_the_table_has_every_rule_and_an_interval(run):
    said = run("evaluate", "heart.askwise", "test.csv", "--bootstrap", "20")
    assert said.exit_code == 0
    for word in ("budget=", "confidence=", "penalty=", "accuracy", " to "):
        assert word in said.stdout


def test_columns_may_be_moved_and_more_than_needed(run):
    table = pd.read_csv("test.csv")
    table[table.columns[::-1]].assign(extra=1).to_csv("moved.csv", index=False)
    moved = run("evaluate", "heart.askwise", "moved.csv", "--json", "--bootstrap", "0")
    plain = run("evaluate", "heart.askwise", "test.csv", "--json", "--bootstrap", "0")
    assert "'extra'" in moved.stderr
    assert "order" in moved.stderr
    assert json.loads(moved.stdout)["curve"] == json.loads(plain.stdout)["curve"]


def test_rows_without_an_answer_are_left_out(run):
    table = pd.read_csv("test.csv")
    table.loc[:9, "diagnosis"] = None
    table.to_csv("holes.csv", index=False)
    said = run("evaluate", "heart.askwise", "holes.csv", "--json", "--bootstrap", "0")
    assert "10 of 80 rows" in said.stderr
    assert json.loads(said.stdout)["rows"] == 70


def test_another_name_for_the_target_can_be_given(run):
    pd.read_csv("test.csv").rename(columns={"diagnosis": "truth"}).to_csv("other.csv", index=False)
    said = run("evaluate", "heart.askwise", "other.csv")
    assert "other.csv has no column 'diagnosis', which the model predicts; name it with --target" in said.stderr
    assert "did you mean 'truth'?" in run("evaluate", "heart.askwise", "other.csv", "--target", "truht").stderr
    assert run("evaluate", "heart.askwise", "other.csv", "--target", "truth", "--bootstrap", "0").exit_code == 0


def test_labels_are_found_whatever_type_the_file_gives_them(run, fast):
    pd.DataFrame({"a": range(60), "answer": ["1", "2", "x"] * 20}).to_csv("t.csv", index=False)
    assert run("train", "t.csv", "--target", "answer", *fast).exit_code == 0
    pd.DataFrame({"a": range(6), "answer": [1, 2.0, None] * 2}).to_csv("numbers.csv", index=False)
    said = run("evaluate", "t.askwise", "numbers.csv", "--json", "--bootstrap", "0")
    assert json.loads(said.stdout)["rows"] == 4


def test_other_costs_change_what_is_spent(run, folder):
    (folder / "dear.json").write_text(json.dumps({"scan": 4000}))
    said = run("evaluate", "heart.askwise", "test.csv", "--costs", "dear.json", "--json", "--bootstrap", "0")
    assert max(r["mean_cost"] for r in json.loads(said.stdout)["curve"]) > 1000


def test_a_report_is_a_folder_with_the_curve_pictures_and_a_page(reported):
    facts, report = reported
    assert len(pd.read_csv(report / "curve.csv")) == len(facts["curve"])
    assert (report / "index.html").stat().st_size > 1000
    assert list(report.glob("*.png"))


def test_calibration_is_said_and_the_same_with_and_without_a_report(run, reported):
    said = run(*EVALUATE, "--bootstrap", "0").stdout
    numbers = json.loads(run(*EVALUATE, "--bootstrap", "0", "--json").stdout)["calibration"]
    assert numbers == reported[0]["calibration"]
    assert numbers["budget"] == pytest.approx(59.5 / 2)
    assert f"Calibration at budget 29.8: ECE {numbers['ece']:.3f}; a perfect model would show" in said
    assert f"reduced the loss by {numbers['realised_over_predicted']:.0%} ± " in said
    assert "more than the budget: 'scan'" in said


def test_a_second_model_is_measured_beside_the_first(run, fast):
    pytest.importorskip("matplotlib")
    Path("site.json").write_text('{"site": 1}')
    questions = ["--groups", "groups.json", "--free", "age,sex", "--split-by", "patient", "--scaling", "none"]
    questions += ["--costs", "site.json"]
    made = run("train", "cases.csv", "--target", "diagnosis", *questions, *fast, "-o", "free.askwise")
    assert made.exit_code == 0, made.stderr
    said = run(
        *("evaluate", "heart.askwise", "test.csv", "--report", "report", "--beside", "free.askwise"),
        *("--bootstrap", "0", "--json"),
    )
    facts = json.loads(said.stdout)
    assert set(facts["calibration_beside"]) == set(facts["calibration"])
    assert facts["calibration"]["share_above_entropy"] == 0
    assert facts["calibration_beside"]["budget"] == facts["calibration"]["budget"]
    page = Path("report/index.html").read_text(encoding="utf-8")
    assert "<p>heart.askwise on test.csv, beside free.askwise</p>" in page
    assert "other prices of &#x27;pressure&#x27;, &#x27;exercise test&#x27;, &#x27;scan&#x27;" in page


def test_a_second_model_without_a_report_is_an_error(run):
    said = run("evaluate", "heart.askwise", "test.csv", "--beside", "heart.askwise")
    assert said.exit_code == 2
    assert "add --report" in said.stderr


def test_a_second_model_of_other_questions_is_an_error(run, folder, fast):
    run("train", "cases.csv", "--target", "diagnosis", "--drop", "patient,scan", *fast, "-o", "other.askwise")
    said = run("evaluate", "heart.askwise", "test.csv", "--report", "report", "--beside", "other.askwise")
    assert said.exit_code == 2
    assert "other columns: only one of the two has 'scan'" in said.stderr
    assert not (folder / "report").exists()


@pytest.mark.parametrize(
    ("rows", "warning", "title", "more"),
    [
        (1, "Warning: 1 row only", "on 1 row of few.csv", ["--report", "report"]),
        (9, "in every row, so nothing tells", "on 9 rows of few.csv", []),
        pytest.param(9, "in every row", "on 9 rows of few.csv", ["--report", "report"], marks=pytest.mark.proof),
    ],
)
def test_rows_that_tell_little_are_measured_with_a_warning(run, rows, warning, title, more):
    table = pd.read_csv("test.csv")
    table[table["diagnosis"] == "sick"].head(rows).to_csv("few.csv", index=False)
    said = run("evaluate", "heart.askwise", "few.csv", "--bootstrap", "5", *more)
    assert said.exit_code == 0, said.output
    assert warning in said.stderr
    assert title in said.stdout


def test_evaluate_is_silent_when_asked(run):
    said = run("evaluate", "heart.askwise", "test.csv", "--bootstrap", "0", "--quiet")
    assert (said.exit_code, said.output) == (0, "")


def test_a_model_without_a_target_asks_for_its_name(run, clinic):
    clinic.save("library.askwise")
    said = run("evaluate", "library.askwise", "test.csv")
    assert said.exit_code == 2
    assert "--target" in said.stderr
    assert run("evaluate", "library.askwise", "test.csv", "--target", "diagnosis", "--bootstrap", "0").exit_code == 0


def test_a_number_is_measured_by_rmse(run, fast):
    pd.read_csv("cases.csv").drop(columns=["patient", "diagnosis"]).to_csv("t.csv", index=False)
    assert run("train", "t.csv", "--target", "pressure", *fast).exit_code == 0
    said = run("evaluate", "t.askwise", "t.csv", "--bootstrap", "0")
    assert "RMSE" in said.stdout
    assert "confidence=" not in said.stdout
    assert "ECE" not in said.stdout
    assert "reduced the loss by" in said.stdout
