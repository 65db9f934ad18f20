"""`askwise check`: faults of a table, as a table for people and as JSON."""

from __future__ import annotations

import json

import pandas as pd
import pytest

pytestmark = pytest.mark.usefixtures("folder")
CHECK = ("check", "cases.csv", "--target", "diagnosis")


def test_check_prints_one_table_with_the_worst_first(run):
    said = run(*CHECK)
    assert said.exit_code == 0, said.output
    assert said.stdout.startswith(
        "cases.csv, 'diagnosis' by classification: 300 rows, 10 columns; 1 serious finding, 1 note"
    )
    assert said.stdout.index("'patient'") < said.stdout.index("'site'")
    assert "--split-by patient" in said.stdout


def test_json_has_the_same_findings(run):
    facts = json.loads(run(*CHECK, "--json").stdout)
    assert (facts["target"], facts["task"], facts["rows"]) == ("diagnosis", "classification", 300)
    assert [(f["severity"], f["kind"], f["columns"]) for f in facts["findings"]] == [
        ("serious", "repeated-person", ["patient"]),
        ("note", "constant", ["site"]),
    ]
    assert all(set(f) == {"kind", "columns", "severity", "found", "why", "advice"} for f in facts["findings"])


def test_quiet_prints_nothing(run):
    said = run(*CHECK, "--quiet")
    assert (said.exit_code, said.output) == (0, "")


def test_a_table_without_faults_is_told_with_the_command_to_train(run):
    pd.read_csv("cases.csv").drop(columns="site").to_csv("t.csv", index=False)
    said = run("check", "t.csv", "--target", "diagnosis", "--split-by", "patient")
    assert "nothing found" in said.stdout
    assert "askwise train t.csv --target diagnosis --split-by patient" in said.stdout


def test_values_that_limits_refuse_and_columns_of_codes(run, folder):
    pd.read_csv("cases.csv").assign(ward=[1, 2, 3, 4, 5, 99] * 50).to_csv("t.csv", index=False)
    (folder / "q.csv").write_text("name,max\nage,60\n")
    command = ("check", "t.csv", "--target", "diagnosis", "--drop", "patient,site", "--json")
    kinds = [
        {finding["kind"] for finding in json.loads(run(*command, *more).stdout)["findings"]}
        for more in ((), ("--categories", "ward"), ("--questions", "q.csv"))
    ]
    assert kinds == [{"sentinel"}, set(), {"refused", "sentinel"}]
    (folder / "q.csv").write_text("name,max\nagee,60\n")
    assert "did you mean 'age'?" in run(*command, "--questions", "q.csv").stderr


def test_columns_that_options_drop_or_price_are_no_faults(run, folder):
    (folder / "c.json").write_text('{"site": 2}')
    said = run(*CHECK, "--drop", "patient", "--costs", "c.json", "--json")
    assert [finding["kind"] for finding in json.loads(said.stdout)["findings"]] == ["no-price"]


def test_what_files_say_of_prices_and_choices_is_looked_at_and_rows_are_named_by_lines(run, folder):
    frame = pd.read_csv("cases.csv")
    frame.loc[[7, 30], "age"] = 600
    frame.to_csv("t.csv", index=False)
    (folder / "q.csv").write_text("name,choices\nsex,male|female|other\n")
    options = ("--costs", "costs.csv", "--groups", "groups.json", "--questions", "q.csv")
    said = run("check", "t.csv", *CHECK[2:], "--drop", "patient", *options, "--json")
    findings = {finding["kind"]: finding for finding in json.loads(said.stdout)["findings"]}
    assert findings["far-value"]["found"].startswith("600 in lines 9 and 32, far from the others")
    assert findings["choices"]["found"].startswith("Choices of 'sex' never seen in training are left out: 'other'")
    assert findings["no-price"]["columns"] == ["smoker"]


def test_nothing_is_written(run, folder):
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    run(*CHECK)
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("check", "cases.csv"), "--target"),
        (("check", "cases.csv", "--target", "diagnosi"), "did you mean 'diagnosis'?"),
        (("check", "none.csv", "--target", "y"), "there is no file none.csv"),
        (("check", ".", "--target", "y"), "looks at a table"),
        ((*CHECK, "--split-by", "patiet"), "did you mean 'patient'?"),
        ((*CHECK, "--drop", "agee"), "did you mean 'age'?"),
        ((*CHECK, "--task", "regression"), "must be numbers to predict a number; it holds"),
    ],
)
def test_a_mistake_is_told_as_by_train(run, arguments, words):
    said = run(*arguments)
    assert said.exit_code == 2
    assert words in said.stderr
    assert said.stdout == ""
