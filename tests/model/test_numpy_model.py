"""A model that asks without torch: the same questions, answers and values."""

import subprocess
import sys

import pandas as pd
import pytest

from askwise import AskwiseError, Budget, CwcfClassifier, MrmrClassifier, NumpyModel, Penalty, Session
from askwise.core.stopping import AverageCost


def conversation(session, row):
    """Everything a user sees while a row is told until the session stops."""
    seen = []
    while (question := session.ask()) is not None:
        seen.append((question.name, question.value, session.ranking, session.prediction))
        session.tell(question.name, row[question.name])
    return [*seen, session.spent, session.reason]


@pytest.mark.parametrize("name", ["flowers", "progression"])
@pytest.mark.parametrize("stop", [Budget(3), Penalty(1e-3), AverageCost(2), None], ids=str)
def test_a_session_goes_as_it_does_with_torch(name, stop, request, tmp_path):
    estimator = request.getfixturevalue(name)
    X = request.getfixturevalue("iris" if name == "flowers" else "diabetes")[0]
    estimator.save(tmp_path / "m")
    model, frame = NumpyModel.load(tmp_path / "m"), pd.DataFrame(X)
    frame.columns = estimator.model_.schema.column_names
    for _, row in frame.iloc[::50].iterrows():
        assert conversation(Session(model, stop), row) == conversation(estimator.session(stop), row)


def test_a_free_column_a_panel_and_a_declined_question_are_as_with_torch(clinic, tmp_path):
    clinic.save(tmp_path / "m")
    model = NumpyModel.load(tmp_path / "m")
    for age in (40, None):
        with_torch = clinic.session(Penalty(1e-4), known={"age": age})
        without = Session(model, Penalty(1e-4), known={"age": age})
        for session in (with_torch, without):
            session.tell("exercise test", {"rate": 150.0, "pain": "often"})
            session.decline("scan")
        assert without.ranking == with_torch.ranking
        assert without.prediction == with_torch.prediction


def test_scores_that_are_only_an_order_stay_one(cases, fast, tmp_path):
    settings = {name: value for name, value in fast.items() if name != "pretrain_epochs"}
    estimator = MrmrClassifier(**settings).fit(*cases)
    estimator.save(tmp_path / "m")
    model = NumpyModel.load(tmp_path / "m")
    assert model.is_information is estimator.model_.is_information is False
    with pytest.raises(AskwiseError, match="information"):
        Session(model, Penalty(0.1))
    assert Session(model, Budget(2)).ask() == estimator.session(Budget(2)).ask()


def test_networks_that_are_no_plain_perceptrons_need_torch(iris, fast, tmp_path):
    CwcfClassifier(**fast).fit(*iris).save(tmp_path / "m")
    with pytest.raises(AskwiseError, match="can't be run without torch"):
        NumpyModel.load(tmp_path / "m")


ASKED = """
    import sys
    from askwise import NumpyModel, Session
    session = Session(NumpyModel.load(sys.argv[1]))
    session.tell(session.ask().name, 1.0)
    print(session.ask().name, "torch" in sys.modules)
"""


def test_torch_is_not_imported(flowers, tmp_path):
    flowers.save(tmp_path / "m")
    script = "\n".join(line.strip() for line in ASKED.splitlines())
    command = [sys.executable, "-c", script, tmp_path / "m"]
    found = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    session = flowers.session()
    session.tell(session.ask().name, 1.0)
    assert found.stdout.split() == [session.ask().name, "False"]
