"""`askwise demo`: on every dataset, what it leaves behind and says."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pandas as pd
import pytest

from askwise import load
from askwise.data.tables.public import PUBLIC

pytest.importorskip("matplotlib")
FAST = ["--hidden", "8", "--epochs", "1", "--pretrain-epochs", "1"]


@pytest.fixture(scope="module")
def shown(run, tmp_path_factory):
    """The demo of breast cancer: what it said, and its folder."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("demo with a space")
        patch.chdir(folder)
        said = run("demo", *FAST)
    assert said.exit_code == 0, said.stderr
    return said.stdout, folder


def test_the_demo_asks_ten_measurements_of_three_columns(shown):
    schema = load(shown[1] / "askwise-demo" / "breast-cancer.askwise").model_.schema
    assert len(schema.space.names) == 10
    columns = [c.name for c in schema.columns_of("concave points")]
    assert columns == ["mean concave points", "concave points error", "worst concave points"]


def test_the_demo_leaves_a_model_its_test_rows_and_a_report(shown):
    folder = shown[1] / "askwise-demo"
    assert len(pd.read_csv(folder / "breast-cancer-test.csv")) == 114
    assert (folder / "breast-cancer-report" / "index.html").exists()
    assert list((folder / "breast-cancer-report").glob("*.png"))


def test_the_demo_shows_rules_costs_accuracy_and_one_case(shown):
    for words in ("budget=", "confidence=", "penalty=", "average cost", "accuracy", "One case", "(nothing yet)"):
        assert words in shown[0]


def test_the_commands_to_try_next_work_as_printed(shown, run, monkeypatch):
    monkeypatch.chdir(shown[1])
    lines = [line.split("#")[0] for line in shown[0].splitlines() if line.startswith("  askwise ")]
    words = [shlex.split(line)[1:] for line in lines]
    assert [command for command, *_ in words] == ["ask", "serve", "info", "evaluate"]
    # A server goes on until it is stopped: tests/service has it.
    for line in words[:1] + words[2:]:
        assert run(*line, "--quiet", typed="").exit_code == 0


@pytest.mark.parametrize("data", ["digits", "diabetes", pytest.param("wine", marks=pytest.mark.proof)])
def test_every_dataset_has_a_demo(run, tmp_path, data):
    said = run("demo", "--data", data, "--out", tmp_path, "--json", *FAST)
    assert said.exit_code == 0, said.stderr
    facts = json.loads(said.stdout)
    assert facts["data"] == data
    assert ("rmse" in facts["curve"][0]) == (data == "diabetes")
    assert ("digits.png" in facts["files"]) == (data == "digits")
    assert all(Path(path).exists() for path in facts["files"].values())


def test_the_demo_ends_without_a_report_if_none_can_be_drawn(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    said = run("demo", "--data", "wine", "--out", tmp_path, "--json", *FAST)
    assert "No report: " in said.stderr
    facts = json.loads(said.stdout)
    assert (facts["data"], set(facts["files"])) == ("wine", {"model", "test"})
    assert "accuracy" in facts["curve"][0]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["wine-test.csv", "wine.askwise"]


def test_the_demo_is_silent_when_asked(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    said = run("demo", "--data", "wine", "--out", tmp_path, "--quiet", *FAST)
    assert (said.exit_code, said.output) == (0, "")


def test_the_datasets_above_are_all():
    assert set(PUBLIC) == {"breast-cancer", "digits", "diabetes", "wine"}


def test_commands_to_try_next_name_a_program_that_the_shell_can_find(monkeypatch):
    from askwise.cli.show import next_steps

    commands = [("askwise ask m.askwise", "ask")]
    monkeypatch.setattr("sys.argv", ["some/where/askwise", "demo"])
    monkeypatch.setattr("shutil.which", lambda name: f"/bin/{name}")
    assert "  askwise ask m.askwise" in next_steps(commands).plain.splitlines()
    monkeypatch.setattr("shutil.which", lambda _: None)
    assert "  some/where/askwise ask m.askwise" in next_steps(commands).plain.splitlines()
