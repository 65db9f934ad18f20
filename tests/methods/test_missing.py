"""What is made of gaps that tell the answer: ignored, corrected, or taken for evidence."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from askwise import Budget, DimeClassifier, DimeRegressor, MrmrClassifier, NumpyModel, Session, load
from askwise.core.errors import AskwiseError, AskwiseWarning
from askwise.model import file

SMALL = {"random_state": 0, "hidden": 32, "layers": 1, "soft_answers": False, "lookahead": 0}
NOISE = ["noise", "more noise"]


def noise_lab(n_rows=1500, seed=0):
    """A column that tells, noise, and a lab of pure noise that was recorded in 80 % of the sick, 20 % of the well."""
    rng = np.random.default_rng(seed)
    sick = rng.integers(0, 2, n_rows)
    X = pd.DataFrame(rng.normal(size=(n_rows, 4)), columns=["telling", *NOISE, "lab"])
    X["telling"] += sick
    X.loc[rng.random(n_rows) > np.where(sick, 0.8, 0.2), "lab"] = np.nan
    return X, np.where(sick, "sick", "well")


def fitted(missing, epochs=15, method=DimeClassifier, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AskwiseWarning)
        return method(**SMALL | settings, missing=missing, epochs=epochs).fit(*noise_lab())


@pytest.fixture(scope="module")
def models():
    return {missing: fitted(missing) for missing in ("ignore", "auto", "evidence")}


def nothing_known(X, **values):
    return pd.DataFrame({name: [values.get(name, np.nan)] for name in X.columns})


def information(model):
    return model.information(nothing_known(noise_lab()[0])).iloc[0]


def moved_by(model, say):
    """How far P(sick) moves when this is said in a new session."""
    session = model.session()
    before = session.prediction.proba["sick"]
    say(session)
    return session.prediction.proba["sick"] - before


def test_a_lab_of_noise_that_is_recorded_by_the_answer_tells_as_little_as_other_noise(models):
    found = information(models["auto"])
    assert abs(found["lab"] - found[NOISE].mean()) < 0.01
    assert abs(moved_by(models["auto"], lambda s: s.tell("lab", 0.0))) < 0.05
    assert found["telling"] > 0.07


def test_ignored_it_would_look_like_the_best_question(models):
    found = information(models["ignore"])
    assert found["lab"] == found.max()
    assert found["lab"] > 0.12
    assert moved_by(models["ignore"], lambda s: s.tell("lab", 0.0)) > 0.2


def test_that_something_cannot_be_had_is_no_evidence_unless_it_is_taken_for_it(models):
    for missing in ("ignore", "auto"):
        assert moved_by(models[missing], lambda s: s.decline("lab")) == 0
    assert moved_by(models["evidence"], lambda s: s.decline("lab")) < -0.2
    assert moved_by(models["evidence"], lambda s: s.tell("lab", None)) < -0.2
    assert moved_by(models["evidence"], lambda s: s.tell("lab", 0.0)) > 0.2


def said_in(session, row):
    """What a session asks about a row of a table, whose missing values can't be had."""
    asked = []
    while (question := session.ask()) is not None:
        asked.append(question.name)
        value = row[question.name]
        session.tell(question.name, None if pd.isna(value) else value)
    return asked


@pytest.mark.parametrize("missing", ["auto", "evidence"])
def test_a_session_asks_what_the_trace_asked_and_pays_as_much(models, missing):
    model, rows = models[missing], noise_lab(20, seed=1)[0]
    acquired = model.acquire(rows, stop=Budget(2))
    for i in range(len(rows)):
        session = model.session(stop=Budget(2))
        asked = said_in(session, rows.iloc[i])
        # A table does not ask what a row does not have, unless that is an answer.
        assert (asked if missing == "evidence" else session.asked) == acquired.order[i]
        assert session.spent == pytest.approx(acquired.spent[i])
        assert session.prediction.proba["sick"] == pytest.approx(acquired.proba[i, 0], abs=1e-5)


def test_what_is_asked_in_vain_is_an_answer_and_costs_nothing(models):
    model = models["evidence"]
    acquired = model.acquire(nothing_known(noise_lab()[0], telling=1.0), stop=Budget(3))
    assert "lab" in acquired.order[0]
    assert acquired.spent[0] == 1
    session = model.session()
    session.decline("lab")
    assert (session.spent, session.declined, session.asked) == (0, ["lab"], [])
    assert "lab" not in {candidate.name for candidate in session.ranking}
    session.undo()
    assert "lab" in {candidate.name for candidate in session.ranking}


def test_evidence_is_kept_in_files_in_numpy_and_torch(models, tmp_path):
    model, X = models["evidence"], noise_lab(50)[0]
    model.save(tmp_path / "m.askwise")
    again = load(tmp_path / "m.askwise")
    assert np.allclose(again.predict_proba(X), model.predict_proba(X), atol=1e-6)
    session, in_numpy = again.session(), Session(NumpyModel.load(tmp_path / "m.askwise"))
    for each in (session, in_numpy):
        each.decline("lab")
    assert in_numpy.prediction.proba["sick"] == pytest.approx(session.prediction.proba["sick"], abs=1e-5)


def test_only_files_whose_gaps_are_evidence_tell_earlier_programs_to_upgrade(models, tmp_path):
    for missing, model in models.items():
        model.save(tmp_path / missing)
    headers = {missing: file.read(tmp_path / missing).header for missing in models}
    assert {missing: header["format"] for missing, header in headers.items()} == {"ignore": 2, "auto": 2, "evidence": 4}
    # Earlier programs know no such setting.
    assert "missing" not in headers["auto"]["estimator"]["settings"]
    assert {missing: load(tmp_path / missing).missing for missing in models} == {missing: missing for missing in models}


def test_files_that_have_the_setting_at_its_default_load(models, tmp_path):
    settings = models["auto"].settings_of_model | {"missing": "auto"}
    file.write(tmp_path / "m", models["auto"].model_, {"name": "dime-classifier", "settings": settings, "settled": {}})
    assert load(tmp_path / "m").missing == "auto"


def test_of_a_panel_each_gap_is_evidence():
    X, y = noise_lab()
    model = DimeClassifier(**SMALL, missing="evidence", epochs=15, groups={"blood": ["lab", "noise"]}).fit(X, y)
    session = model.session()
    session.tell("blood", {"lab": None, "noise": 0.0})
    without = session.prediction.proba["sick"]
    session.undo()
    session.tell("blood", {"lab": 0.0, "noise": 0.0})
    assert session.prediction.proba["sick"] - without > 0.3


@pytest.mark.parametrize(("missing", "corrected"), [("auto", ["lab"]), ("correct", ["noise", "lab"]), ("ignore", None)])
def test_auto_corrects_what_the_test_flags_and_correct_all_that_has_gaps(missing, corrected):
    X, y = noise_lab()
    X.loc[np.random.default_rng(2).random(len(X)) < 0.3, "noise"] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AskwiseWarning)
        card = DimeClassifier(**SMALL, missing=missing, epochs=1, pretrain_epochs=1).fit(X, y).model_.card
    assert card["missing"] == missing
    if corrected is None:
        assert "corrected" not in card
        return
    assert card["corrected"]["groups"] == corrected
    assert 0.3 * card["rows_trained"] < card["corrected"]["effective_rows"] < 0.9 * card["rows_trained"]


def test_other_methods_and_numbers_are_corrected_too():
    rng = np.random.default_rng(0)
    X, _ = noise_lab()
    y = X["telling"] + 0.2 * rng.normal(size=len(X))
    X["lab"] = np.where(rng.random(len(X)) < np.where(y > y.median(), 0.8, 0.2), rng.normal(size=len(X)), np.nan)
    both = {}
    for missing in ("ignore", "auto"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AskwiseWarning)
            both[missing] = DimeRegressor(**SMALL, missing=missing, epochs=15).fit(X, y)
    unknown = nothing_known(X)
    told = nothing_known(X, lab=0.0)
    shift = {missing: float(m.predict(told)[0] - m.predict(unknown)[0]) for missing, m in both.items()}
    assert shift["ignore"] > 0.18
    assert abs(shift["auto"]) < 0.09
    fixed = {k: v for k, v in SMALL.items() if k != "lookahead"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AskwiseWarning)
        mrmr = MrmrClassifier(**fixed, epochs=15).fit(*noise_lab())
    assert abs(moved_by(mrmr, lambda s: s.tell("lab", 0.0))) < 0.1


def test_the_warning_says_what_is_made_of_it():
    X, y = noise_lab(400)
    for missing, words in (("ignore", "has learnt it"), ("auto", "does not learn it"), ("evidence", "for evidence")):
        with pytest.warns(AskwiseWarning, match=words):
            DimeClassifier(**SMALL, missing=missing, epochs=1, pretrain_epochs=1).fit(X, y)


def test_other_words_for_it_are_refused():
    with pytest.raises(AskwiseError, match=r"'Correct'; did you mean 'correct'\? allowed: 'auto', 'ignore'"):
        DimeClassifier(missing="Correct").fit(*noise_lab(50))


def test_a_frontier_begins_with_nothing_asked_and_known(models):
    first = models["evidence"].frontier_.iloc[0]
    assert (first["mean_cost"], first["mean_groups"]) == (0, 0)


def test_a_shared_price_is_still_due_after_what_was_asked_in_vain():
    prices = {"visit": {"price": 5.0, "for": ["lab", "telling"]}}
    model = fitted("evidence", epochs=2, pretrain_epochs=2, costs=prices)
    acquired = model.acquire(nothing_known(noise_lab()[0], telling=1.0), stop=Budget(99))
    assert acquired.spent[0] == pytest.approx(6)
    session = model.session()
    session.decline("lab")
    assert {c.name: c.cost for c in session.ranking}["telling"] == 6
    session.tell("telling", 1.0)
    assert session.spent == 6


def test_every_question_that_is_counted_reweighted_was_paid(models):
    table = models["auto"].curve(*noise_lab(400, seed=3), reweighted=True)
    assert np.allclose(table["mean_groups"], table["mean_cost"])
