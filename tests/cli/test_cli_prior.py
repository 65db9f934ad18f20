"""`--prior LABEL=SHARE` of predict and ask: predictions at another prevalence."""

import json

import pandas as pd
import pytest

from askwise import load


@pytest.fixture
def saved(clinic, cases, tmp_path):
    clinic.save(tmp_path / "clinic.askwise")
    cases[0].to_csv(tmp_path / "rows.csv", index=False)
    return tmp_path


@pytest.mark.parametrize("how", [["--all"], ["--stop", "budget=3"], ["--stop", "confidence=0.2"]])
def test_predict_is_as_python_does_it(saved, run, how):
    given = [saved / "clinic.askwise", saved / "rows.csv", "-o", saved / "out.csv", "--prior", "sick=.02"]
    assert run("predict", *given, *how).exit_code == 0
    found = pd.read_csv(saved / "out.csv")
    if how == ["--all"]:
        model = load(saved / "clinic.askwise")
        X = pd.read_csv(saved / "rows.csv")
        assert found["proba_sick"].tolist() == pytest.approx(
            model.predict_proba(X, prior={"sick": 0.02})[:, 0].tolist(), abs=1e-6
        )
    assert found["proba_sick"].mean() < 0.3


def test_ask_tells_the_prediction_at_the_prevalence(saved, run):
    (saved / "answers.json").write_text(json.dumps({"pressure": 150}))
    given = ["ask", saved / "clinic.askwise", "--stop", "budget=1", "--answers", saved / "answers.json", "--json"]
    plain, moved = (run(*given, *prior, typed="\n" * 9) for prior in ([], ["--prior", "sick=.01"]))
    shares = [json.loads(said.stdout)["prediction"] for said in (plain, moved)]
    assert shares[0] != shares[1]


WRONG = {
    "--prior takes a label and its share": ["sick"],
    "did you mean 'sick'": ["sik=.1"],
    "above 0 and below 1": ["sick=0"],
    "give the option again for each label: --prior sick=.5 --prior well=.5": ["sick=.5,well=.5"],
    "names the label 'sick' twice": ["sick=.1", "sick=.2"],
}


@pytest.mark.parametrize("message", WRONG)
@pytest.mark.parametrize("command", ["predict", "ask"])
def test_mistakes_are_told_before_anything_is_done(saved, run, message, command):
    rows = [saved / "rows.csv", "-o", saved / "out.csv"] if command == "predict" else []
    said = run(command, saved / "clinic.askwise", *rows, *(w for text in WRONG[message] for w in ("--prior", text)))
    assert said.exit_code != 0
    assert message in said.stderr
    assert not (saved / "out.csv").exists()


def test_a_confidence_that_the_prior_meets_is_warned_of(saved, run):
    words = ["predict", saved / "clinic.askwise", saved / "rows.csv", "-o", saved / "out.csv", "--prior", "sick=.02"]
    met, other = (run(*words, "--stop", f"confidence={m}|budget=3").stderr for m in (0.2, 0.05))
    assert "a confidence of 0.2 asks nothing at this prior" in met
    assert "entropy is 0.098 nats" in met
    assert "asks nothing" not in other


def test_at_a_prior_nobody_says_what_is_expected_to_be_spent(saved, run):
    words = ["predict", saved / "clinic.askwise", saved / "rows.csv", "-o", saved / "out.csv", "--stop"]
    plain, moved = (run(*words, "average-cost=3", *prior).stdout for prior in ([], ["--prior", "sick=.2"]))
    assert "(expected: " in plain
    assert "(expected: " not in moved
