"""The README's examples run as they stand."""

from __future__ import annotations

import ast
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from askwise import AverageCost, NumpyModel
from askwise.cli import app
from askwise.training import schedule

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


def examples(language: str) -> list[str]:
    return re.findall(rf"<!-- run -->\n```{language}\n(.*?)```", README, flags=re.DOTALL)


@pytest.fixture
def few_epochs(monkeypatch):
    """Training by default is short."""
    monkeypatch.setattr(schedule, "MOST_EPOCHS", 6)


@pytest.fixture
def cases(tmp_path, monkeypatch):
    """The files that the README speaks of, in the current folder."""
    rng = np.random.default_rng(0)
    n = 150
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 90, n),
            "sex": rng.choice(["female", "male"], n),
            "glucose": rng.normal(100, 20, n).round(),
            "cholesterol": rng.normal(200, 30, n).round(),
            "chest pain": rng.choice(["none", "some", "much"], n),
        }
    )
    ill = (frame["glucose"] > 105) | (frame["chest pain"] == "much")
    frame["diagnosis"] = np.where(ill, "ill", "well")
    frame.iloc[:110].to_csv(tmp_path / "cases.csv", index=False)
    frame.iloc[110:].to_csv(tmp_path / "test.csv", index=False)
    (tmp_path / "costs.csv").write_text("name,cost\nblood panel,25\nchest pain,2\n")
    (tmp_path / "groups.json").write_text(json.dumps({"blood panel": ["glucose", "cholesterol"]}))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("few_epochs")
def test_the_python_examples_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    *found, without_torch = examples("python")
    assert len(found) == 4
    for code in found:
        exec(code, names)
    assert "because of" in capsys.readouterr().out
    assert isinstance(names["s"].model, NumpyModel)
    assert names["s"].ask() == names["m"].session(AverageCost(1.5)).ask()
    said = run_without_torch(without_torch, typed="0.05\n" * 9)
    session = names["m"].session()
    for line in (line for line in said.splitlines() if line.endswith(" nats)")):
        question = session.ask()
        assert f"{question.name} (cost {question.cost:g}" in line
        session.tell(question.name, {column.name: 0.05 for column in question.columns})
    assert len(session.answers) == 9
    assert ast.literal_eval(said[said.index("{") :]) == pytest.approx(session.prediction.proba, abs=1e-3)


def run_without_torch(code: str, typed: str) -> str:
    """What a program prints where neither torch nor askwise can be imported."""
    # What is None in sys.modules can't be imported.
    first = "import sys; sys.modules.update(dict.fromkeys(['torch', 'askwise', 'sklearn', 'pandas']))\n"
    run = [sys.executable, "-c", first + code]
    done = subprocess.run(run, input=typed, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.usefixtures("few_epochs")
def test_the_commands_run(cases):
    for line in "".join(examples("bash")).strip().splitlines():
        program, *words = shlex.split(line)
        assert program == "askwise"
        # Fewer epochs are known to this process only.
        with joblib.parallel_config(backend="sequential"):
            done = CliRunner().invoke(app, words, input="40\nmale\nmuch\n")
        assert done.exit_code == 0, f"{line}\n{done.output}"
    assert (cases / "report" / "index.html").exists()
    assert (cases / "results" / "compare.png").exists()
