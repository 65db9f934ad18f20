"""Prices that questions share, from costs.json to every command."""

from __future__ import annotations

import json
import math

import pandas as pd
import pytest

from askwise import Session, load
from askwise.cli.cases import TableDescription

COSTS = {
    "_source": "an example",
    "scan": 4,
    "draw": {"price": 2.5, "for": ["scan", "pressure"]},
    "visit": {"price": 1, "for": ["smoker", "scan"]},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory, cases, run):
    """A table, its prices, a model that was trained on them, and other prices."""
    found = tmp_path_factory.mktemp("shared")
    X, y = cases
    X.head(150).drop(columns="site").assign(diagnosis=y[:150]).to_csv(found / "cases.csv", index=False)
    (found / "costs.json").write_text(json.dumps(COSTS))
    (found / "paid.json").write_text(json.dumps({"draw": 0, "visit": 0}))
    options = ["--target", "diagnosis", "--free", "age", "--costs", found / "costs.json", "--epochs", 2, "--seed", 0]
    said = run("train", found / "cases.csv", *options, "-o", found / "m.askwise")
    assert said.exit_code == 0, said.output
    return found


def test_info_says_what_is_paid_once(run, folder):
    said = run("info", folder / "m.askwise").stdout
    assert "2.5 of these costs is 'draw', paid once for 'pressure', 'scan'" in said
    facts = json.loads(run("info", folder / "m.askwise", "--json").stdout)
    assert [s["name"] for s in facts["shared_prices"]] == ["draw", "visit"]


def test_predict_and_evaluate_pay_what_is_shared_once_and_not_at_all_if_it_is_paid(run, folder):
    model, rows = folder / "m.askwise", folder / "cases.csv"
    found = {}
    for costs in ([], ["--costs", folder / "paid.json"]):
        said = run("predict", model, rows, "-o", folder / "out.csv", *costs)
        assert said.exit_code == 0, said.output
        found[len(costs)] = pd.read_csv(folder / "out.csv", keep_default_na=False)
    for i in range(20):
        asked = set(found[0]["asked"][i].split("|"))
        own = math.fsum(COSTS["scan"] if name == "scan" else 1 for name in asked)
        shared = sum(COSTS[s]["price"] for s in ("draw", "visit") if asked & set(COSTS[s]["for"]))
        assert found[0]["spent"][i] == pytest.approx(own + shared)
        assert found[2]["spent"][i] == pytest.approx(own)
    costs = ["--costs", folder / "paid.json", "--json"]
    facts = json.loads(run("evaluate", model, rows, *costs).stdout)
    assert max(line["mean_cost"] for line in facts["curve"]) == pytest.approx(found[2]["spent"].mean())


ANSWERS = {"pressure": 120, "scan": 1, "rate": 100, "pain": "often", "smoker": "yes", "sex": "male"}


def test_the_terminal_asks_and_spends_as_a_session_does(run, folder):
    model = folder / "m.askwise"
    session, typed = Session(load(model), known={"age": 50}), ["50"]
    while (question := session.ask()) is not None:
        session.tell(question.name, ANSWERS[question.name])
        typed.append(str(ANSWERS[question.name]))
    said = run("ask", model, "--json", typed="\n".join(typed) + "\n")
    facts = json.loads(said.stdout)
    assert facts["asked"] == session.asked
    assert facts["spent"] == session.spent == 4 + 5 + 2.5 + 1


def test_a_mistake_in_the_file_is_told_with_what_is_allowed(run, folder, tmp_path):
    (tmp_path / "costs.json").write_text('{"draw": {"price": 2, "for": ["scam"]}}')
    said = run("train", folder / "cases.csv", "--target", "diagnosis", "--costs", tmp_path / "costs.json")
    assert said.exit_code != 0
    assert "did you mean 'scan'?" in " ".join(said.output.split())


def test_columns_that_share_a_price_are_named_and_those_that_go_leave_it():
    about = TableDescription("y", costs={"draw": {"price": 2, "for": ["a", "b"]}, "c": 1})
    assert about.named_columns() == {"a", "b", "c"}
    assert about.without({"a"}, ["a", "b", "c"]).costs == {"draw": {"price": 2, "for": ["b"]}, "c": 1}
    assert about.without({"a", "b"}, ["a", "b", "c"]).costs == {"c": 1}
