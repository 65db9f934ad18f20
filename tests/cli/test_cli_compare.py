"""`askwise compare`: what it writes and says, the data it takes, mistakes, and how it ends and goes on."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pandas as pd
import pytest
import torch

from askwise.cli.compare_options import METHODS_HELP
from askwise.methods.random_order import RandomOrderClassifier
from askwise.methods.registry import METHODS
from askwise.studies.compare import TableData
from askwise.studies.compare.baselines.registry import BASELINES
from askwise.studies.compare.plan import method_names

QUICK = ["--epochs", "1", "--hidden", "8", "--jobs", "1"]


@pytest.fixture(scope="module")
def clinic(cases, tmp_path_factory):
    """A table, its prices, and a suite of it and of a dataset with a name, in a folder of their own."""
    folder = tmp_path_factory.mktemp("clinic")
    frame, answers = cases
    frame.assign(diagnosis=answers, patient=[f"p{i}" for i in range(len(frame))]).to_csv(
        folder / "cases.csv", index=False
    )
    prices = {"scan": 40, "pressure": 2.5}
    (folder / "prices.json").write_text(json.dumps({"clinic": prices}))
    (folder / "costs.json").write_text(json.dumps(prices))
    entry = {
        "path": "cases.csv", "target": "diagnosis", "drop": ["patient", "site"], "free": ["age"],
        "costs": {"file": "prices.json", "key": "clinic"}, "groups": {"exercise": ["rate", "pain"]},
        "task": "classification", "metric": "accuracy",
    }  # fmt: skip
    (folder / "suite.json").write_text(json.dumps({"clinic": entry, "vineyard": {"name": "wine"}}))
    return folder


@pytest.fixture(scope="module")
def shown(run, clinic, tmp_path_factory):
    """A suite compared, with two seeds: what was said, and where it wrote."""
    out = tmp_path_factory.mktemp("out") / "results"
    chosen = ("--methods", "dime,random-order", "--methods", "all-features", "--seeds", 2, "--seeds", "dime=1")
    said = run("compare", clinic / "suite.json", *chosen, *QUICK, "--out", out)
    assert said.exit_code == 0, said.stderr
    return said.stdout, out


def test_it_writes_a_tidy_table_a_document_and_pictures(shown):
    said, out = shown
    table = pd.read_csv(out / "results.csv")
    assert list(table.columns[:8]) == [
        "dataset", "method", "seed", "protocol", "rule", "budget", "mean_cost", "mean_groups",
    ]  # fmt: skip
    assert set(table["dataset"]) == {"clinic", "vineyard"}
    assert set(table["rule"]) == {"budget", "average-cost", "everything"}
    assert set(table.loc[table["method"] == "dime", "seed"]) == {0}
    assert (table.loc[table["dataset"] == "clinic", "n_groups"] == 5).all()
    assert "## clinic" in (out / "table.md").read_text()
    for name in ("compare.png", "compare-average-cost.png"):
        assert (out / name).read_bytes().startswith(b"\x89PNG")
    assert all(str(out / name) in said for name in ("results.csv", "table.md", "compare.png"))
    assert len(list((out / "cells").glob("*.json"))) == 10


def test_the_tables_on_the_terminal_have_a_line_for_each_method(shown):
    said, _ = shown
    lines = [line.split() for line in said.splitlines()]
    assert sum(line[:1] == ["dime"] for line in lines) == 2
    assert sum(line[:2] == ["everything", "known"] for line in lines) == 2
    assert said.count("Stopping at an average cost: dime ") == 2
    assert "2 seeds tell nothing apart" in said
    assert "clinic: Accuracy in %" in said
    assert "10 trainings run" in said
    assert max(len(line) for line in said.splitlines() if ": /" not in line) <= 110


def test_the_same_command_runs_nothing_again_and_json_has_the_facts(run, clinic, shown):
    chosen = ("--methods", "dime,random-order", "--seeds", 2, "--seeds", "dime=1")
    said = run("compare", clinic / "suite.json", *chosen, *QUICK, "--out", shown[1], "--json")
    assert (said.exit_code, said.stderr) == (0, "")
    facts = json.loads(said.stdout)
    assert facts["trainings"] == {"run": 0, "kept": 6, "not_shown": 4}
    assert facts["failed"] == []
    assert {line["method"] for line in facts["standings"]["budget"]} == {"dime", "random-order"}
    assert facts["results"][0]["dataset"] == "clinic"
    assert set(facts["files"]) == {"results", "table", "figure", "average_cost_figure"}


def test_a_table_takes_the_options_of_train_and_leaves_identifiers_out(run, clinic, tmp_path):
    said = run(
        *("compare", clinic / "cases.csv", "--target", "diagnosis", "--costs", clinic / "costs.json"),
        *("--free", "age,sex", "--drop", "site", "--methods", "random-order", "--seeds", 1, "--budgets", "2,45,50"),
        *("--out", tmp_path, "--json", *QUICK),
    )
    assert said.exit_code == 0, said.stderr
    assert "'patient' is left out" in said.stderr
    assert "cases: everything costs 45.5, so these budgets are left out: 50" in said.stderr
    results = json.loads(said.stdout)["results"]
    assert [(line["dataset"], line["budget"], line["n_groups"]) for line in results] == [
        ("cases", 2, 5), ("cases", 45, 5),
    ]  # fmt: skip


def test_gaps_that_tell_the_answer_are_told_before_methods_win_by_them(run, clinic, tmp_path):
    frame = pd.read_csv(clinic / "cases.csv")
    lab = frame["pressure"].where(frame["diagnosis"] == frame["diagnosis"].iloc[0])
    frame.assign(lab=lab).drop(columns="patient").to_csv(tmp_path / "labs.csv", index=False)
    options = ["--methods", "random-order", "--seeds", "1", *QUICK, "-o", tmp_path / "out"]
    said = run("compare", tmp_path / "labs.csv", "-t", "diagnosis", *options)
    assert said.exit_code == 0
    assert "Warning, 'lab': Recorded in" in said.stderr


@pytest.mark.parametrize("as_suite", [False, True])
def test_rows_of_one_person_stay_together_and_the_person_is_not_asked(run, clinic, tmp_path, monkeypatch, as_suite):
    table = pd.read_csv(clinic / "cases.csv").assign(patient=lambda t: [f"p{i // 4}" for i in range(len(t))])
    table.to_csv(tmp_path / "visits.csv", index=False)
    entry = {"path": "visits.csv", "target": "diagnosis", "split_by": "patient"}
    (tmp_path / "suite.json").write_text(json.dumps({"visits": entry}))
    split, found = TableData.split, []
    monkeypatch.setattr(TableData, "split", lambda self, *how: found.append(split(self, *how)) or found[-1])
    options = ["suite.json"] if as_suite else ["visits.csv", "--target", "diagnosis", "--split-by", "patient"]
    monkeypatch.chdir(tmp_path)
    said = run("compare", *options, "--methods", "random-order", "--seeds", 1, *QUICK)
    assert said.exit_code == 0, said.stderr
    (rows,) = found
    assert "patient" not in rows.X
    assert not set(table["patient"][rows.X.index]) & set(table["patient"][rows.X_test.index])


def test_on_a_gpu_one_training_runs_at_a_time_unless_more_are_asked_for(run, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr("askwise.training.devices.pick_device", lambda _: torch.device("cuda"))
    monkeypatch.setattr("askwise.studies.compare.run.run", lambda *arguments: asked.append(arguments[2]) or 1 / 0)
    for jobs in ([], ["--jobs", 3]):
        run("compare", "wine", "--methods", "random-order", "--out", tmp_path, *jobs)
    assert asked == [1, 3]


def test_known_distributions_have_the_exact_policy_too(run, tmp_path):
    said = run("compare", "tests:60", "--methods", "exact", "--seeds", 1, "--test-rows", 50, *QUICK, "--out", tmp_path)
    assert said.exit_code == 0, said.stderr
    assert "exact" in said.stdout


def test_silence_is_kept(run, tmp_path):
    said = run("compare", "wine", "--methods", "random-order", "--seeds", 1, *QUICK, "--out", tmp_path, "--quiet")
    assert (said.exit_code, said.output) == (0, "")


def test_what_fails_is_told_at_the_end_with_exit_code_1(run, tmp_path, monkeypatch):
    class Unlucky(RandomOrderClassifier):
        registry_name = "unlucky-classifier"

        def train(self, *_):
            raise RuntimeError("no luck")

    monkeypatch.setitem(METHODS, "unlucky-classifier", Unlucky)
    said = run("compare", "wine", "--methods", "unlucky,random-order", "--seeds", 1, *QUICK, "--out", tmp_path)
    assert said.exit_code == 1
    assert "Failed: wine, unlucky, seed 0: RuntimeError: no luck" in said.stderr
    assert "Failed: 1 of 2 trainings" in said.stderr
    assert set(pd.read_csv(tmp_path / "results.csv")["method"]) == {"random-order"}
    alone = run("compare", "wine", "--methods", "unlucky", "--seeds", 1, *QUICK, "--out", tmp_path, "--json")
    assert alone.exit_code == 1
    assert json.loads(alone.stdout)["failed"][0]["error"] == "RuntimeError: no luck"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["digitz"], ["unknown dataset 'digitz'; did you mean 'digits'?", "(.json)"]),
        (["cube:many"], ["'cube:many'", "at least 50"]),
        (["none.csv", "--target", "y"], ["there is no file none.csv"]),
        (["none.json"], ["there is no file none.json"]),
        (["cases.csv"], ["--target COLUMN"]),
        (["cases.csv", "--target", "diagnoses"], ["unknown target 'diagnoses'; did you mean 'diagnosis'?"]),
        (["cases.csv", "--target", "diagnosis", "--drop", "scam"], ["'scam'", "did you mean 'scan'?"]),
        (["cases.csv", "--target", "diagnosis", "--free", "agee"], ["'agee'", "did you mean 'age'?"]),
        (["wine", "--target", "grower"], ["--target tells of one table, and 0 are given"]),
        (["wine", "--folder", "."], ["--folder", "no suite"]),
        (["wine", "wine"], ["'wine' is given twice"]),
        (["wine", "--methods", "dimme"], ["unknown method 'dimme'; did you mean 'dime'?"]),
        (["wine", "--seeds", "many"], ["--seeds", "'many'"]),
        (["wine", "--seeds", "0"], ["--seeds", "at least 1"]),
        (["wine", "--seeds", "edi=2"], ["'edi'", "did you mean 'eddi'?"]),
        (["wine", "--budgets", "1,two"], ["--budgets", "'two'"]),
        (["wine", "--budgets", "-1"], ["--budgets", "'-1'"]),
        (["wine", "--protocol", "papers"], ["did you mean 'paper'?"]),
        (["wine", "--metric", "acuracy"], ["did you mean 'accuracy'?"]),
        (["wine", "--device", "tpu"], ["'tpu'"]),
        (["wine", "--out", "cases.csv"], ["is a file"]),
        (["no.json"], ["no.json is not valid JSON"]),
        (["empty.json"], ["empty.json holds no dataset"]),
        (["list.json"], ["must hold a JSON object"]),
        (["bad.json"], ["bad.json, 'clinic': unknown entry 'targets'; did you mean 'target'?"]),
        (["lost.json"], ["lost.json, 'clinic': ", "there is no file"]),
        (["half.json"], ["half.json, 'clinic': it has no 'target'"]),
        (["cases.csv", "--target", "diagnosis", "--task", "classification", "--drop", "scam"], ["in --drop: 'scam'"]),
        (["cases.csv", "--target", "diagnosis", "--split-by", "patients"], ["in --split-by: 'patients'"]),
        (["wine", "--split-by", "grower"], ["--split-by tells of one table"]),
        (["drop.json"], ["drop.json, 'clinic': unknown column in drop: 'scam'"]),
        (["people.json"], ["people.json, 'clinic': unknown column in split_by: 'patients'"]),
        (["groups.json"], ["'groups' must map", "['a', 'b']"]),
        (["group.json"], ["'groups' must give a list of columns' names for 'g', it gives 5"]),
        (["cases.csv", "--target", "diagnosis", "--groups", "g.json"], ["g.json must give a list", "'g', it gives 5"]),
        (["file.json"], ["the 'file' of 'costs' must be a text, it is 5"]),
        (["free.json"], ["'free' must be a list of columns' names, it is [['a']]"]),
        (["place.json"], ["'free' must be a list of columns' names, it is [1]"]),
        (["price.json"], ["price.json, 'clinic': ", "'dear'"]),
        (["key.json"], ["key.json, 'clinic': ", "unknown key of prices.json: 'clinics'; did you mean 'clinic'?"]),
    ],
)
def test_a_mistake_is_told_before_any_training(run, clinic, tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    for name in ("cases.csv", "prices.json"):
        (tmp_path / name).write_bytes((clinic / name).read_bytes())
    table = {"path": "cases.csv", "target": "diagnosis"}
    suites = {
        "bad": {"clinic": {"path": "cases.csv", "targets": "diagnosis"}},
        "lost": {"clinic": {"path": "lost.csv", "target": "diagnosis"}},
        "half": {"clinic": {"path": "cases.csv"}},
        "key": {"clinic": table | {"costs": {"file": "prices.json", "key": "clinics"}}},
        "drop": {"clinic": table | {"drop": ["scam"]}},
        "people": {"clinic": table | {"split_by": "patients"}},
        "groups": {"clinic": table | {"groups": ["a", "b"]}},
        "group": {"clinic": table | {"groups": {"g": 5}}},
        "g": {"g": 5},
        "file": {"clinic": table | {"costs": {"file": 5, "key": "x"}}},
        "free": {"clinic": table | {"free": [["a"]]}},
        "place": {"clinic": table | {"free": [1]}},
        "price": {"clinic": table | {"costs": {"scan": "dear"}}},
        "empty": {},
        "list": [],
    }
    for name, suite in suites.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(suite))
    (tmp_path / "no.json").write_text("{")
    said = run("compare", *arguments)
    assert (said.exit_code, said.stdout) == (2, "")
    assert "Error: " in said.stderr
    assert all(word in said.stderr for word in words), said.stderr
    assert not (tmp_path / "results").exists()


def test_the_suite_of_the_benchmarks_can_be_read(run):
    suite = Path(__file__).parents[2] / "benchmarks" / "tables.json"
    assert list(json.loads(suite.read_text())) == [
        "digits", "spam", "physionet2012", "support2", "bank_additional", "actg175", "keel_pima", "heart_cleveland",
    ]  # fmt: skip
    said = run("compare", suite)
    assert "tables.json, 'spam': there is no file" in said.stderr


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.proof)])
def test_ctrl_c_keeps_what_is_done_and_the_same_command_goes_on(run, start, tmp_path, jobs):
    chosen = ["tests:300", "--methods", "random-order", "--epochs", 3, "--out", tmp_path / "results"]
    process = start("compare", *chosen, "--seeds", 100, "--jobs", jobs, TMPDIR=str(tmp_path))
    process.wait_until(lambda: len(list(tmp_path.glob("results/cells/*.json"))) >= 2)
    message = "Stopped. What is done is kept: run the same command again to go on.\n"
    assert process.press_ctrl_c() == (130, message)
    # Torch may leave a folder of its own for its caches.
    assert [name for name in os.listdir(tmp_path) if not name.startswith("torchinductor")] == ["results"]
    assert all(json.loads(path.read_text())["error"] is None for path in (tmp_path / "results" / "cells").iterdir())
    again = run("compare", *chosen, "--seeds", 2, "--jobs", 1, "--json")
    assert json.loads(again.stdout)["trainings"]["kept"] >= 1


def test_earlier_trainings_that_are_not_shown_are_told(run, clinic, shown):
    chosen = ("--methods", "random-order", "--seeds", 2)
    said = run("compare", clinic / "suite.json", *chosen, *QUICK, "--out", shown[1])
    assert f"6 earlier trainings in {shown[1]} are not part of this command and not shown" in said.stdout


def test_help_names_the_kinds_of_data_and_has_examples(run):
    said = run("compare", "--help").stdout
    assert "cube:750" in said
    assert "--seeds eddi=2" in said


def test_help_names_every_method_and_baseline(run):
    said = " ".join(run("compare", "--help").stdout.replace("-\n", "-").split()).replace("- ", "-")
    assert [name for name in method_names() if name not in said] == []
    assert [name for name in method_names() if name not in METHODS_HELP] == []


def test_baselines_stand_beside_the_methods_in_tables_json_and_pictures(run, clinic, tmp_path):
    chosen = ("--methods", "random-order,boosting-best-k,linear-lasso", "--seeds", 1, "--budgets", "2,50", *QUICK)
    table = (
        "compare",
        clinic / "cases.csv",
        "--target",
        "diagnosis",
        "--costs",
        clinic / "costs.json",
        "--free",
        "age",
    )
    said = run(*table, *chosen, "--out", tmp_path)
    assert said.exit_code == 0, said.stderr
    lines = [line.split()[:1] for line in said.stdout.splitlines()]
    assert all(lines.count([name]) == 1 for name in ("random-order", "linear-lasso"))
    assert "boosting-best-k, linear-lasso: scikit-learn's models" in " ".join(said.stdout.split())
    again = run(*table, *chosen, "--out", tmp_path, "--json")
    facts = json.loads(again.stdout)
    assert facts["trainings"] == {"run": 0, "kept": 3, "not_shown": 0}
    assert {line["method"] for line in facts["standings"]["budget"]} == {"random-order", *BASELINES}
    assert set(facts["files"]) == {"results", "table", "figure"}
