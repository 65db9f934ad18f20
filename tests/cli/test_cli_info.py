"""`askwise info`: what is inside a model file."""

from __future__ import annotations

import json

import torch
from torch import nn

from askwise import DimeClassifier, load
from askwise.model.description import model_facts


def test_info_shows_questions_prices_free_columns_frontier_and_training(run, trained):
    said = run("info", trained / "heart.askwise")
    assert said.exit_code == 0
    for words in (
        "Predicts diagnosis by classification: sick, well",
        "Questions (5)",
        "exercise test",
        "one of 'none', 'often', 'seldom'",
        "yes or no",
        "Free columns",
        "What it costs to be right",
        "cases.csv",
        "on disk",
    ):
        assert words in said.stdout


def test_info_as_json_has_every_column(run, trained):
    path = trained / "heart.askwise"
    facts = json.loads(run("info", path, "--json").stdout)
    questions = {q["name"]: q for q in facts["questions"]}
    assert questions["exercise test"]["cost"] == 15
    assert [c["name"] for c in questions["exercise test"]["inputs"]] == ["rate", "pain"]
    assert questions["exercise test"]["inputs"][1]["choices"] == ["none", "often", "seldom"]
    assert [c["name"] for c in facts["free"]] == ["age", "sex"]
    assert facts["bytes"] == path.stat().st_size
    assert facts["frontier"][0]["mean_cost"] == 0
    assert facts["settings"]["hidden"] == 8


def test_info_shows_how_questions_are_put_where_they_have_words(run, trained, worded):
    without, said = run("info", trained / "heart.askwise").stdout, run("info", worded).stdout
    heads = [[line.split() for line in text.splitlines() if "takes" in line] for text in (without, said)]
    assert heads[0] == [["question", "cost", "column", "takes"], ["column", "takes"]]
    assert heads[1] == [["name", "cost", "column", "question", "takes"], ["column", "question", "takes"]]
    for words in ("How did it go?", "Ten minutes", "a number (bpm)", "How old?", "one of 'none', 'seldom', 'often'"):
        assert words in said


def test_info_as_json_has_what_the_service_has(run, worded):
    facts = json.loads(run("info", worded, "--json").stdout)
    assert facts["fingerprint"] == load(worded).model_.fingerprint
    assert {name: facts[name] for name in model_facts(load(worded))} == model_facts(load(worded))
    (panel,) = (q for q in facts["questions"] if q["name"] == "exercise test")
    assert (panel["text"], panel["help"]) == ("How did it go?", "Ten minutes, on a bicycle")


def test_info_is_silent_when_asked(run, trained):
    assert run("info", trained / "heart.askwise", "--quiet").output == ""


class OwnNetwork(nn.Module):
    def __init__(self, n_inputs, n_outputs):
        super().__init__()
        self.layer = nn.Linear(n_inputs, n_outputs)

    def forward(self, x, mask):
        return self.layer(torch.cat([x, mask.to(x.dtype)], 1))


def test_info_reads_a_model_with_networks_of_the_users_own(run, tmp_path, iris):
    settings = {"pretrain_epochs": 1, "epochs": 1, "random_state": 0}
    DimeClassifier(predictor=OwnNetwork(8, 3), value=OwnNetwork(8, 4), **settings).fit(*iris).save(tmp_path / "own")
    assert "Questions (4)" in run("info", tmp_path / "own").stdout
    assert "trained with a predictor of your own" in run("ask", tmp_path / "own").stderr
