"""Another prevalence than that of training: predictions move as Bayes' rule says, questions and values stay."""

import numpy as np
import pandas as pd
import pytest
import torch

from askwise import AskwiseError, Budget, Confidence, DimeClassifier, NumpyModel, Penalty, Session, load
from askwise.model import file as bundle
from askwise.model.model import Model
from askwise.model.prior import prior_shift
from askwise.model.table_predictions import predict_table

PRIOR = {"sick": 0.05}


def moved(proba, trained, new):
    """Probabilities at another prevalence, by Bayes' rule."""
    found = proba * np.asarray(new) / np.asarray(trained)
    return found / found.sum(-1, keepdims=True)


@pytest.fixture(scope="module")
def prevalence(clinic):
    return np.array(clinic.model_.card["prevalence"])


def test_the_prevalence_is_that_of_the_rows_learnt_from(cases, prevalence):
    assert prevalence.sum() == pytest.approx(1)
    assert prevalence[0] == pytest.approx(np.mean(cases[1] == "sick"), abs=0.01)


def test_predictions_move_by_bayes_rule(clinic, cases, prevalence):
    X, _ = cases
    found = clinic.predict_proba(X, prior=PRIOR)
    assert found == pytest.approx(moved(clinic.predict_proba(X), prevalence, [0.05, 0.95]))
    assert (clinic.predict(X, prior=PRIOR) == clinic.classes_[found.argmax(1)]).all()


def test_the_prevalence_of_training_changes_nothing(clinic, cases, prevalence):
    X, _ = cases
    same = dict(zip(["sick", "well"], prevalence, strict=True))
    assert clinic.predict_proba(X, prior=same) == pytest.approx(clinic.predict_proba(X))


def test_questions_values_and_penalties_stay_and_confidence_moves(clinic, cases):
    X, _ = cases
    for stop in (None, Budget(3), Penalty(0.01)):
        one, other = clinic.acquire(X, stop), clinic.acquire(X, stop, prior=PRIOR)
        assert one.order == other.order
        assert not np.allclose(one.proba, other.proba)
    sure, surer = (clinic.acquire(X, Confidence(0.3), prior=prior) for prior in (None, {"sick": 0.001}))
    assert surer.n_asked.mean() < sure.n_asked.mean()
    first, moved_first = clinic.session().ask(), clinic.session(prior=PRIOR).ask()
    assert first == moved_first


@pytest.mark.parametrize("stop", [None, Confidence(0.3), Budget(2)])
def test_a_session_a_batch_and_numpy_agree(clinic, cases, stop, tmp_path):
    X, _ = cases
    clinic.save(tmp_path / "clinic.askwise")
    models = [clinic, NumpyModel.load(tmp_path / "clinic.askwise"), load(tmp_path / "clinic.askwise")]
    acquired = clinic.acquire(X[:5], stop, prior=PRIOR)
    for i in range(5):
        answers = X.iloc[i]
        for model in models:
            known = {name: answers[name] for name in clinic.model_.schema.free if not pd.isna(answers[name])}
            session = Session(model, stop, known=known, prior=PRIOR)
            while (question := session.ask()) is not None:
                values = {c.name: None if pd.isna(answers[c.name]) else answers[c.name] for c in question.columns}
                session.tell(question.name, values if len(values) > 1 else next(iter(values.values())))
            assert session.asked == acquired.order[i]
            assert list(session.prediction.proba.values()) == pytest.approx(acquired.proba[i], abs=1e-6)
            told = Session.from_answers(model, session.answers, session.declined, stop, prior=PRIOR)
            assert told.prediction == session.prediction


def test_a_known_distribution_at_another_prevalence_is_exact():
    """P(x | y) is known: a model of it at one prevalence, moved, is the model of it at another."""
    likelihood = np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6], [0.3, 0.3, 0.4]])
    trained, new = np.array([0.5, 0.3, 0.2]), np.array([0.1, 0.2, 0.7])
    logits = torch.from_numpy(np.log(likelihood * trained[:, None]).T)
    shift = prior_shift({"a": 0.1, "b": 0.2, "c": 0.7}, ["a", "b", "c"], trained)
    exact = (likelihood * new[:, None] / (likelihood * new[:, None]).sum(0)).T
    assert shift.outputs(logits).softmax(1).numpy() == pytest.approx(exact)
    assert np.exp(shift.outputs(logits.numpy())) / np.exp(shift.outputs(logits.numpy())).sum(1, keepdims=True) == (
        pytest.approx(exact)
    )


def test_a_trained_model_at_another_prevalence_is_near_the_exact_one():
    """Half of the cases to learn from are sick, and a tenth of those in use."""
    rng = np.random.default_rng(0)

    def sample(n, share):
        y = (rng.random(n) < share).astype(int)
        return pd.DataFrame({"tells": rng.standard_normal(n) + y, "noise": rng.standard_normal(n)}), y

    model = DimeClassifier(hidden=16, epochs=8, random_state=0).fit(*sample(4000, 0.5))
    fresh, truth = sample(20000, 0.1)
    sick, well = (np.exp(-((fresh["tells"] - mean) ** 2) / 2) for mean in (1, 0))
    exact = 0.1 * sick / (0.1 * sick + 0.9 * well)
    found = model.predict_proba(fresh, prior={1: 0.1})[:, 1]
    assert np.abs(found - exact).mean() < 0.03
    assert found.mean() == pytest.approx(truth.mean(), abs=0.02)


def test_labels_that_are_not_named_share_the_rest_as_in_training():
    trained = np.array([0.5, 0.3, 0.2])
    shift = prior_shift({"a": 0.2}, ["a", "b", "c"], trained)
    assert np.exp(shift.added) * trained == pytest.approx([0.2, 0.48, 0.32])


WRONG = {
    "unknown label in prior: 'sik'; did you mean 'sick'": {"sik": 0.1},
    "the share of 'sick' in prior must lie above 0 and below 1, was given 0": {"sick": 0},
    "the share of 'sick' in prior must lie above 0 and below 1, was given 2": {"sick": 2},
    "the share of 'sick' in prior must lie above 0 and below 1, was given '0.1'": {"sick": "0.1"},
    "the shares add up to 0.9; they must add up to 1": {"sick": 0.2, "well": 0.7},
    "prior must map labels to their shares, was given 0.02": 0.02,
    "prior must map labels to their shares, was given {}": {},
}


@pytest.mark.parametrize("message", WRONG)
def test_a_prevalence_that_can_not_be_is_refused(message, clinic, cases):
    with pytest.raises(AskwiseError, match=message.replace("{}", r"\{\}")):
        clinic.predict(cases[0], prior=WRONG[message])


def test_shares_that_leave_nothing_to_the_others_are_refused():
    with pytest.raises(AskwiseError, match=r"add up to 1\.1, which leaves nothing to the other labels"):
        prior_shift({"a": 0.5, "b": 0.6}, ["a", "b", "c"], np.array([0.5, 0.3, 0.2]))


def test_a_model_of_numbers_has_no_prevalence(progression, diabetes):
    with pytest.raises(AskwiseError, match="this model predicts a number"):
        progression.acquire(diabetes[0], prior={1: 0.5})


def test_whole_numbers_are_labels_by_their_texts(flowers, iris):
    assert flowers.predict_proba(iris[0], prior={"0": 0.1}) == pytest.approx(
        flowers.predict_proba(iris[0], prior={0: 0.1})
    )


def test_files_of_earlier_versions_have_their_base_rate_or_an_error(clinic, cases):
    model = clinic.model_
    card = {name: value for name, value in model.card.items() if name != "prevalence"}
    older = Model(model.schema, model.task, model.policy, card=card)
    assert older.outputs(clinic.encode(cases[0]), PRIOR).softmax(1).numpy() == pytest.approx(
        clinic.predict_proba(cases[0], prior=PRIOR), abs=1e-6
    )
    plain = DimeClassifier(hidden=8, epochs=1, base_rates=False, random_state=0).fit(*cases).model_
    del plain.card["prevalence"]
    with pytest.raises(AskwiseError, match="does not say how frequent each label was in training"):
        plain.prior_shift(PRIOR)


def test_weights_are_part_of_the_prevalence(cases):
    X, y = cases
    model = DimeClassifier(hidden=8, epochs=1, random_state=0).fit(X, y, sample_weight=np.where(y == "sick", 3, 1))
    n_sick = np.mean(y == "sick")
    assert model.model_.card["prevalence"][0] == pytest.approx(3 * n_sick / (1 + 2 * n_sick), abs=0.02)


def test_a_table_of_predictions_takes_a_prevalence(clinic, cases):
    X, _ = cases
    for ask in (True, False):
        found = predict_table(clinic.model_, X, ask=ask, prior=PRIOR)
        assert found["proba_sick"].to_numpy() == pytest.approx(clinic.predict_proba(X, prior=PRIOR)[:, 0], abs=1e-6)


def test_the_file_keeps_the_prevalence(clinic, prevalence, tmp_path):
    clinic.save(tmp_path / "clinic.askwise")
    assert bundle.read(tmp_path / "clinic.askwise").header["card"]["prevalence"] == prevalence.tolist()
