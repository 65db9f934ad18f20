"""`askwise evaluate`: what it accepts, measures and writes."""

from __future__ import annotations

import json
import re
from datetime import date
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
    for word in ("budget=", "confidence=", "penalty=", "accuracy"):
        assert word in said.stdout
    lines = said.stdout.splitlines()
    line = next(i for i, text in enumerate(lines) if text.startswith("budget=59.5"))
    assert len(re.findall(r"\([\d.]+–[\d.]+\)", lines[line + 1])) == 5, "of cost, questions and three metrics"


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


def test_intervals_of_persons_are_those_of_the_library(run):
    said = run(*EVALUATE, "--split-by", "patient", "--bootstrap", "20", "--json")
    table, estimator = pd.read_csv("test.csv"), load("heart.askwise")
    X, patients = table[list(estimator.feature_names_in_)], table["patient"]
    expected = estimator.curve(X, table["diagnosis"], bootstrap=20, split_by=patients)
    facts = json.loads(said.stdout)
    assert [r["auroc_low"] for r in facts["curve"]] == expected["auroc_low"].tolist()
    assert facts["decisions"]["persons"] == patients.nunique()
    assert "'patient'" not in said.stderr
    alone = json.loads(run(*EVALUATE, "--bootstrap", "20", "--json").stdout)
    assert alone["curve"][-1]["auroc_low"] != facts["curve"][-1]["auroc_low"]


def test_a_threshold_decides_and_it_is_said_in_words(run):
    words = ("--threshold", "0.3", "--stop", "budget=59.5", "--bootstrap", "20")
    facts = json.loads(run(*EVALUATE, *words, "--json").stdout)["decisions"]
    counts = facts["confusion"]
    assert sum(counts["called"].values()) + sum(counts["cleared"].values()) == 80
    called = sum(counts["called"].values())
    share = facts["measures"]["positive_predictive_value"]["value"]
    assert share == pytest.approx(counts["called"]["is"] / called)
    said = run(*EVALUATE, *words).stdout
    assert f"Called {facts['label']} from a probability of 0.3 on, stopping at budget=59.5" in said
    assert f"of 100 cases called {facts['label']}, {100 * share:.0f} are {facts['label']}" in said
    assert len(facts["net_benefit"]) == 99


def test_the_label_that_is_called_can_be_chosen(run):
    found = [
        json.loads(run(*EVALUATE, "--positive", label, "--bootstrap", "0", "--json").stdout)["decisions"]
        for label in ("sick", "well")
    ]
    assert [d["label"] for d in found] == ["sick", "well"]
    sensitivity, specificity = (
        d["measures"][name]["n"] for d, name in zip(found, ("sensitivity", "specificity"), strict=True)
    )
    assert sensitivity == specificity


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--threshold", "1.2"), "a threshold is a probability above 0 and below 1, was given 1.2"),
        (("--threshold", "0"), "above 0 and below 1"),
        (("--split-by", "persn"), "unknown column in test.csv, named by --split-by: 'persn'"),
        (("--split-by", "diagnosis"), "unknown column in test.csv, named by --split-by: 'diagnosis'"),
        (("--split-by", "site"), "split_by has one value in all rows"),
        (("--positive", "ill"), "unknown label in --positive: 'ill'; allowed: 'sick', 'well'"),
        (("--stop", "budgt=3"), "did you mean 'budget'?"),
    ],
)
def test_what_can_not_be_decided_is_an_error_before_anything_is_written(run, folder, options, says):
    said = run(*EVALUATE, *options, "--report", "report")
    assert said.exit_code == 2
    assert says in said.stderr
    assert not (folder / "report").exists()


def test_a_threshold_is_not_for_several_labels_nor_for_a_number(run, fast):
    pd.DataFrame({"a": range(90), "answer": ["x", "y", "z"] * 30, "n": [i / 7 for i in range(90)]}).to_csv("t.csv")
    for target, kind in {"answer": "one of 3 labels", "n": "a number"}.items():
        made = run("train", "t.csv", "--target", target, *fast, "-o", "m.askwise")
        assert made.exit_code == 0, made.stderr
        said = run("evaluate", "m.askwise", "t.csv", "--threshold", "0.2")
        assert (said.exit_code, f"this model predicts {kind}" in said.stderr) == (2, True), said.stderr


def test_a_confidence_that_asks_nothing_is_warned_of(run):
    for words in (
        ("evaluate", "heart.askwise", "test.csv", "--bootstrap", "0"),
        ("predict", "heart.askwise", "test.csv", "-o", "p.csv"),
    ):
        said = run(*words, "--stop", "confidence=0.9")
        assert "a confidence of 0.9 asks nothing: the entropy of 2 labels is at most 0.693 nats" in said.stderr
        assert "asks nothing" not in run(*words, "--stop", "confidence=0.6").stderr


@pytest.fixture(scope="module")
def rare(run, trained, tmp_path_factory):
    """A model of which 95 % of rows have one answer, and other such rows."""
    folder = tmp_path_factory.mktemp("rare")
    table = pd.read_csv(trained / "cases.csv")
    table["diagnosis"] = ["ill" if i % 20 == 0 else "fine" for i in range(len(table))]
    table.loc[table["diagnosis"] == "ill", "scan"] += 4
    table.to_csv(folder / "cases.csv", index=False)
    words = ("--target", "diagnosis", "--drop", "patient", "--hidden", "8", "--epochs", "3", "--pretrain-epochs", "3")
    made = run("train", folder / "cases.csv", *words, "-o", folder / "rare.askwise")
    assert made.exit_code == 0, made.output
    return folder, made


def test_where_one_class_is_rare_auroc_and_sensitivity_come_first_everywhere(run, rare):
    pytest.importorskip("matplotlib")
    folder, made = rare
    said = run("evaluate", folder / "rare.askwise", folder / "cases.csv", "--bootstrap", "5", "--report", "r")
    assert said.exit_code == 0, said.output
    for text in (made.stdout, run("info", folder / "rare.askwise").stdout):
        heading = next(line for line in text.splitlines() if "average cost" in line)
        assert heading.index("AUROC") < heading.index("sens. at 90% spec.") < heading.index("accuracy")
    heading = next(line for line in said.stdout.splitlines() if "average cost" in line)
    assert heading.index("AUROC") < heading.index("accuracy")
    page = Path("r/index.html").read_text(encoding="utf-8")
    assert "<span>AUROC, asking nothing</span><small>Sensitivity at 90% specificity " in page
    assert "AUROC against mean cost" in page
    assert page.index('<th scope="col" class="n">AUROC') < page.index(">Sensitivity at 90% specificity</th>")
    assert "Called ill from a probability of 0.5 on" in said.stdout


def test_a_report_names_the_target_and_the_day(reported):
    page = (reported[1] / "index.html").read_text(encoding="utf-8")
    assert f"Predicts <strong>diagnosis</strong>. Made on {date.today().isoformat()}, on 80 cases" in page
    assert "<h2>What a threshold decides</h2>" in page
    assert len(pd.read_csv(reported[1] / "net_benefit.csv")) == 99


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
