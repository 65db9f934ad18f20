"""`askwise predict`: what it writes, what it tells, and what it refuses."""

from __future__ import annotations

import json
import os

import numpy as np
import pandas as pd
import pytest

from askwise import Budget, load
from askwise.model import table_predictions

pytestmark = pytest.mark.usefixtures("folder")
PREDICT = ("predict", "heart.askwise", "test.csv")


@pytest.fixture
def small_chunks(monkeypatch):
    """Files are read, predicted and written a few rows at a time."""
    monkeypatch.setattr(table_predictions, "MOST_ROWS_AT_ONCE", 7)
    monkeypatch.setattr(table_predictions, "LEAST_ROWS_AT_ONCE", 7)


def read(path):
    """What was written, with texts as texts."""
    return pd.read_parquet(path) if path.endswith(".parquet") else pd.read_csv(path, dtype={"patient": str})


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_every_row_is_predicted_as_acquire_does(run, kind):
    if kind == "parquet":
        pytest.importorskip("pyarrow")
        pd.read_csv("test.csv").to_parquet("test.parquet", row_group_size=10)
    said = run("predict", "heart.askwise", f"test.{kind}", "--stop", "budget=20", "-o", f"out.{kind}")
    assert said.exit_code == 0, said.output
    table, m, X = read(f"out.{kind}"), load("heart.askwise"), pd.read_csv("test.csv")
    expected = m.acquire(X[list(m.feature_names_in_)], Budget(20))
    assert table["row"].tolist() == list(range(80))
    assert np.allclose(table[["proba_sick", "proba_well"]], expected.proba)
    assert table["asked"].fillna("").tolist() == ["|".join(order) for order in expected.order]
    for name in ("spent", "n_asked", "reason"):
        assert table[name].tolist() == getattr(expected, name).tolist()


@pytest.mark.usefixtures("small_chunks")
def test_the_summary_counts_rows_reasons_and_remarks(run):
    table = pd.read_csv("test.csv")
    table["pain"] = table["pain"].astype(object)
    table.loc[3:20, "pain"] = "always"
    table.assign(scan=900.5).to_csv("odd.csv", index=False)
    said = run("predict", "heart.askwise", "odd.csv", "--stop", "budget=100", "-o", "out.csv", "--json")
    facts, written = json.loads(said.stdout), pd.read_csv("out.csv")
    assert facts["rows"] == 80
    assert facts["mean_spent"] == pytest.approx(written["spent"].mean())
    assert facts["mean_asked"] == pytest.approx(written["n_asked"].mean())
    assert facts["reasons"] == written["reason"].value_counts().to_dict()
    assert facts["remarks"]["rows"] == written["remarks"].notna().sum() == 80
    assert facts["remarks"]["outside"]["scan"] == 80
    assert facts["remarks"]["never_seen"] == {"pain": 18}
    assert said.stderr.count("'pain' is 'always' in 18 of 80 rows, never seen in training") == 1
    assert said.stderr.count("'scan' is outside what was seen in training") == 1


def test_the_lines_for_people_tell_what_was_spent_and_why_it_stopped(run):
    said = run(*PREDICT, "--stop", "average-cost=20", "-o", "out.csv")
    assert said.stdout.startswith("out.csv: 80 rows\nOn average ")
    assert "spent (expected: " in said.stdout
    assert "stopped: 80 average-cost" in said.stdout


def test_all_takes_everything_as_known_and_asks_nothing(run):
    assert run(*PREDICT, "--all", "-o", "out.csv").exit_code == 0
    table, m, X = pd.read_csv("out.csv"), load("heart.askwise"), pd.read_csv("test.csv")
    assert [*table.columns] == ["row", "prediction", "proba_sick", "proba_well", "remarks"]
    assert np.allclose(table["proba_sick"], m.predict_proba(X[list(m.feature_names_in_)])[:, 0])
    said = run(*PREDICT, "--all", "--stop", "budget=3", "-o", "out.csv")
    assert "Error: --all asks nothing, so --stop has no meaning beside it" in said.stderr


def test_columns_are_carried_over_by_name_or_all(run):
    run(*PREDICT, "--keep", "patient,scan", "-o", "some.csv")
    assert [*read("some.csv").columns[:4]] == ["row", "patient", "scan", "prediction"]
    run(*PREDICT, "--keep", "all", "-o", "every.csv")
    given, kept = (pd.read_csv(path, dtype=str) for path in ("test.csv", "every.csv"))
    pd.testing.assert_frame_equal(kept[given.columns], given)


def test_a_column_that_cant_be_carried_over_is_an_error(run):
    assert "did you mean 'patient'?" in run(*PREDICT, "--keep", "patint", "-o", "out.csv").stderr
    pd.read_csv("test.csv").assign(spent=1).to_csv("clash.csv", index=False)
    said = run("predict", "heart.askwise", "clash.csv", "--keep", "all", "-o", "out.csv")
    assert said.exit_code == 2
    assert "the output has a column 'spent' of its own; rename it in clash.csv" in said.stderr


@pytest.mark.usefixtures("small_chunks")
def test_columns_that_are_not_there_are_told_once_and_cant_be_had(run):
    pd.read_csv("test.csv").rename(columns={"scan": "scans"}).drop(columns="rate").to_csv("few.csv", index=False)
    said = run("predict", "heart.askwise", "few.csv", "-o", "out.csv", "--json")
    assert json.loads(said.stdout)["missing_columns"] == ["rate", "scan"]
    assert said.stderr.count("few.csv has no column 'rate', 'scan'; they count as not available in every row") == 1
    assert not pd.read_csv("out.csv")["asked"].str.contains("scan").any()


def test_a_table_of_other_columns_is_an_error(run):
    pd.DataFrame({"a": [1]}).to_csv("other.csv", index=False)
    said = run("predict", "heart.askwise", "other.csv", "-o", "out.csv")
    assert (said.exit_code, os.path.exists("out.csv")) == (2, False)
    assert "other.csv has no column that the model knows; it has 'a', and the model knows 'age'" in said.stderr


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("how", [(), ("--all",)])
def test_a_text_among_numbers_cant_be_had_and_is_told_once(run, how):
    table = pd.read_csv("test.csv").astype({"pressure": object})
    table.loc[[50, 60], "pressure"] = ["high", "-inf"]
    table.to_csv("wrong.csv", index=False)
    said = run("predict", "heart.askwise", "wrong.csv", "-o", "out.csv", "--json", *how)
    where = f"in 2 of {len(table)} rows, so it counts as not available there"
    assert said.stderr.count(f"Warning: 'pressure' takes a number, and is 'high', -inf {where}") == 1
    assert json.loads(said.stdout)["remarks"]["unreadable"] == {"pressure": 2}
    table.loc[[50, 60], "pressure"] = None
    table.to_csv("empty.csv", index=False)
    run("predict", "heart.askwise", "empty.csv", "-o", "same.csv", *how)
    found, same = pd.read_csv("out.csv"), pd.read_csv("same.csv")
    assert "'pressure' takes a number, was given 'high', so it counts as not available" in found["remarks"][50]
    assert found.drop(columns="remarks").equals(same.drop(columns="remarks"))


@pytest.mark.usefixtures("small_chunks")
def test_an_impossible_value_far_down_names_its_line_and_leaves_the_old_output(run, folder, fast):
    (folder / "q.csv").write_text("name,max\nage,120\n")
    run("train", "cases.csv", "--target", "diagnosis", "--drop", "patient", "--questions", "q.csv", *fast)
    table = pd.read_csv("test.csv")
    table.loc[50, "age"] = 600
    table.to_csv("wrong.csv", index=False)
    (folder / "out.csv").write_text("the old table")
    before = sorted(os.listdir())
    said = run("predict", "cases.askwise", "wrong.csv", "-o", "out.csv")
    assert said.exit_code == 2
    assert "Error: wrong.csv, where line 1 is the header: 1 value is not allowed: 'age' takes" in said.stderr
    assert "and line 52 has 600" in said.stderr
    assert (folder / "out.csv").read_text() == "the old table"
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("test.csv", "heart.askwise", "-o", "o.csv"), "the model comes first: askwise predict heart.askwise test.csv"),
        (("heart.askwise", "none.csv", "-o", "o.csv"), "there is no file none.csv"),
        (("heart.askwise", "test.csv", "-o", "test.csv"), "test.csv is the table of rows itself"),
        (("heart.askwise", "test.csv", "-o", "o.xlsx"), "a table is written as CSV or Parquet, was given o.xlsx"),
        (("heart.askwise", "test.csv", "-o", "."), ". is a folder; give a file to write, such as predictions.csv"),
        (("heart.askwise", "test.csv", "-o", "o.csv", "--stop", "bugdet=3"), "did you mean 'budget'?"),
        (("heart.askwise", "test.csv"), "Missing option '--output'"),
    ],
)
def test_a_mistake_is_told_before_anything_is_predicted(run, args, says):
    said = run("predict", *args)
    assert said.exit_code == 2
    assert says in said.stderr


def test_predict_is_silent_when_asked_and_makes_the_folder_of_its_output(run):
    said = run(*PREDICT, "--quiet", "-o", "new/folder/out.csv")
    assert (said.exit_code, said.output) == (0, "")
    assert len(pd.read_csv("new/folder/out.csv")) == 80


def test_other_prices_change_what_is_asked(run, folder):
    (folder / "dear.json").write_text(json.dumps({"scan": 4000}))
    run(*PREDICT, "--stop", "budget=100", "--costs", "dear.json", "-o", "out.csv")
    assert not pd.read_csv("out.csv")["asked"].fillna("").str.contains("scan").any()


@pytest.mark.proof
@pytest.mark.parametrize(
    ("signal", "code", "is_cleaned"), [("SIGKILL", -9, False), ("SIGTERM", 143, True), ("SIGINT", 130, True)]
)
def test_a_run_that_is_killed_midway_leaves_no_output(start, folder, signal, code, is_cleaned):
    pd.concat([pd.read_csv("test.csv")] * 8000).to_csv("many.csv", index=False)
    (folder / "out.csv").write_text("the old table")
    process = start("predict", folder / "heart.askwise", folder / "many.csv", "-o", folder / "out.csv")
    process.wait_until(lambda: any(part.stat().st_size for part in folder.glob(".out.csv.*.part")))
    returned, errors = process.send(signal)
    assert returned == code
    assert (folder / "out.csv").read_text() == "the old table"
    if is_cleaned:
        assert not list(folder.glob(".out.csv.*"))
        assert errors.splitlines()[-1] == f"Stopped. {folder / 'out.csv'} was not written."
