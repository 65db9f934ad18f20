"""By which number a session ranks its questions, and that it says so."""

import pytest

from askwise import Budget, Session
from askwise.core.ranking import RANKED_BY
from askwise.methods.random_order import RandomOrderClassifier
from askwise.model.numpy_model import NumpyModel
from askwise.session.replies import session_facts


@pytest.fixture(scope="module")
def ordered(cases):
    return RandomOrderClassifier(hidden=8, epochs=1, random_state=0).fit(*cases)


def test_a_session_says_by_what_it_ranks(clinic, far_sighted, ordered):
    found = [model.session().ranked_by for model in (clinic, far_sighted, ordered)]
    assert found == ["information", "lookahead", "score"]
    assert set(found) == set(RANKED_BY)
    assert [session_facts(m.session())["ranked_by"] for m in (clinic, far_sighted, ordered)] == found


def test_a_model_that_looks_ahead_ranks_by_what_follows_and_shows_the_information_too(far_sighted):
    session = far_sighted.session(known={"age": 60})
    ranking = session.ranking
    ranks = [candidate.lookahead_per_cost for candidate in ranking]
    assert ranks == sorted(ranks, reverse=True)
    assert min(ranks) > 0
    for candidate in ranking:
        assert candidate.value_per_cost == pytest.approx(max(candidate.value, 0) / candidate.cost)
        assert candidate.rank == candidate.lookahead_per_cost
    # The two scores are not the same order of the same numbers.
    assert [c.value_per_cost for c in ranking] != pytest.approx(ranks)


def test_the_question_has_the_numbers_of_the_first_of_the_ranking(far_sighted, clinic):
    for model in (far_sighted, clinic):
        session = model.session()
        while (question := session.ask()) is not None:
            first = session.ranking[0]
            numbers = (question.name, question.value, question.cost, question.value_per_cost)
            assert numbers == tuple(first[:4])
            assert question.lookahead_per_cost == first.lookahead_per_cost
            session.decline(question.name)


def test_what_is_over_the_budget_keeps_its_number(far_sighted):
    dear = {c.name: c for c in far_sighted.session().ranking}["scan"]
    short = {c.name: c for c in far_sighted.session(stop=Budget(3)).ranking}["scan"]
    assert short == dear


def test_a_model_that_looks_at_one_question_has_no_second_number(clinic, ordered):
    for model in (clinic, ordered):
        assert {c.lookahead_per_cost for c in model.session().ranking} == {None}
        assert model.session().ask().lookahead_per_cost is None


def test_numpy_and_torch_rank_alike(far_sighted, tmp_path):
    far_sighted.save(tmp_path / "ahead.askwise")
    session = Session(NumpyModel.load(tmp_path / "ahead.askwise"))
    assert session.ranked_by == "lookahead"
    for mine, theirs in zip(session.ranking, far_sighted.session().ranking, strict=True):
        assert mine.name == theirs.name
        assert mine[1:] == pytest.approx(theirs[1:], rel=1e-6)
