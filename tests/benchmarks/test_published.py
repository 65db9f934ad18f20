"""The tables that others publish: how their data, their metrics and the runs that are kept are made."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch

from askwise import DimeClassifier

ROOT = Path(__file__).parents[2]


@pytest.fixture
def module(monkeypatch):
    """Import a module of the benchmarks by its name."""
    monkeypatch.syspath_prepend(ROOT)
    return lambda name: importlib.import_module(f"benchmarks.{name}")


@pytest.fixture
def start(module, tmp_path):
    """Read options, and start runs with them."""

    def call(*options):
        runs = module("shared.runs")
        return runs.Runs(runs.RunOptions("", "here", seeds=1).read([*options, "--out", str(tmp_path)]))

    return call


def test_run_that_is_there_is_not_run_again(start):
    assert start().get("one", lambda: {"figure": 1.0})["figure"] == 1
    assert start().get("one", lambda: {"figure": 2.0})["figure"] == 1
    assert start("--again").get("one", lambda: {"figure": 3.0})["figure"] == 3


def test_run_with_other_settings_is_another_run(start, capsys):
    start().get("one", lambda: {"figure": 1.0})
    trial = start("--set", "epochs=2", "--set", "encoding=raw", "--on", "validation")
    assert trial.args.set == {"epochs": 2, "encoding": "raw"}
    assert trial.get("one", lambda: {"figure": 2.0})["figure"] == 2
    trial.print_notes()
    assert "A trial, not the defaults: epochs=2, encoding='raw'\nOn validation rows" in capsys.readouterr().out


def test_run_of_other_code_is_named(start, capsys):
    start().get("one", lambda: {"figure": 1.0})
    later = start()
    later.code = "other"
    later.get("one", lambda: {"figure": 2.0})
    later.print_notes()
    assert "other code (--again runs them again): one" in capsys.readouterr().out


def test_trials_go_to_another_folder_than_results(module):
    runs = module("shared.runs")
    read = runs.RunOptions("", "here", seeds=1).read
    assert read([]).out == runs.RESULTS / "here"
    assert read(["--set", "epochs=1"]).out == read(["--on", "validation"]).out == Path("benchmarks/out/here")


def test_missing_value_can_be_asked_and_tells_nothing(module):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((200, 3))
    y = (x[:, 0] + x[:, 1] > 0).astype(int)
    x[rng.random(x.shape) < 0.3] = np.nan
    model = DimeClassifier(random_state=0, hidden=8, layers=1, epochs=2).fit(x, y)
    path = module("shared.paths").path_of(model, x, ask_missing=True)
    rows, policy = model.encode(x), model.model_.running_policy
    assert (path.n_asked[-1] == 3).all()
    known = torch.zeros(200, 3, dtype=torch.bool)
    for k in range(4):
        with torch.no_grad():
            expected = policy(rows.x.double(), policy.mask(known, rows.present), scores=False).outputs
        np.testing.assert_allclose(path.outputs[k], expected, atol=1e-5)
        if k < 3:
            known[torch.arange(200), path.choice[k]] = True


def test_questions_needed_counts_up_to_the_last_one(module):
    # The first row asks 2, 0, 1 and needs 0 and 2; the second asks 0, 1, 2 and needs 2.
    path = SimpleNamespace(choice=torch.tensor([[2, 0], [0, 1], [1, 2]]))
    needed = np.array([[True, False, True], [False, False, True]])
    assert module("published.sefa").questions_needed(path, needed) == (2 + 3) / 2


def test_syn_rows_need_the_switch_and_one_function(module):
    x = pd.DataFrame(np.zeros((2, 11)))
    x.iloc[0, 10] = -1
    needed = module("shared.sefa_data").syn_needed("syn2", x)
    assert [np.flatnonzero(row).tolist() for row in needed] == [[0, 1, 10], [6, 7, 8, 9, 10]]


def test_bank_has_fifteen_features_of_which_four_have_gaps(module):
    data = module("shared.sefa_data").bank(None)
    assert data.x.shape[1] == 15
    assert set(data.x.columns[data.x.isna().any()]) == {"job", "education", "contact", "poutcome"}
    assert (data.x["pdays"] == -500).all()
    assert "unknown" in set(data.x["poutcome"])


def test_boosting_reads_more_categories_than_it_has_bins(module):
    rng = np.random.default_rng(0)
    category = rng.integers(0, 300, 900)
    x = pd.DataFrame({"category": [f"c{c}" for c in category], "noise": rng.standard_normal(900)})
    y = category % 2
    boosting = module("shared.boosting").Boosting(x, y)
    assert boosting.order()[0] == "category"
    assert boosting.everything(x, y, "auroc") > 0.9
