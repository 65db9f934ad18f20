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
    "between 0 and 1": ["sick=3"],
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
