"""A folder with a user's files, and a model trained there by the command line, once."""

from __future__ import annotations

import json
import shutil

import pandas as pd
import pytest
from typer.testing import CliRunner

from askwise.cli import app

FAST = ["--hidden", "8", "--epochs", "4", "--pretrain-epochs", "4"]


@pytest.fixture(scope="session")
def run():
    """Call the command line with arguments and, where given, what is typed; paths and numbers may be as they are."""

    def call(*args, typed=None):
        return CliRunner().invoke(app, [str(a) for a in args], input=typed)

    return call


@pytest.fixture(scope="session")
def trained(tmp_path_factory, cases, new_cases, run):
    """Tables, prices and groups, and heart.askwise trained from them. Not to be written into."""
    folder = tmp_path_factory.mktemp("clinic")
    for name, (frame, answers) in {"cases.csv": cases, "test.csv": new_cases}.items():
        people = [f"p{i // 3}" for i in range(len(frame))]
        frame.assign(patient=people, diagnosis=answers).to_csv(folder / name, index=False)
    prices = {"scan": 40, "exercise test": 15, "pressure": 2.5}
    (folder / "costs.json").write_text(json.dumps(prices))
    pd.DataFrame({"name": prices.keys(), "cost": prices.values()}).to_csv(folder / "costs.csv", index=False)
    (folder / "groups.json").write_text(json.dumps({"exercise test": ["rate", "pain"]}))
    made = run(
        *("train", folder / "cases.csv", "--target", "diagnosis", "--costs", folder / "costs.csv"),
        *("--groups", folder / "groups.json", "--free", "age,sex", "--split-by", "patient", *FAST),
        *("-o", folder / "heart.askwise"),
    )
    assert made.exit_code == 0, made.output
    return folder


@pytest.fixture
def folder(trained, tmp_path, monkeypatch):
    """A copy of the user's files to work in, as the current folder."""
    shutil.copytree(trained, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def fast():
    """Arguments that train in a fraction of a second."""
    return list(FAST)
