"""The live conversation."""

import contextlib
import copy
import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from askwise import AskwiseError, AverageCost, Budget, Confidence, DimeClassifier, Penalty, Session
from askwise.core.stopping import RULES, AnyOf, takes_arrays
from askwise.data.tables.column import is_missing

OTHER_COSTS = {"scan": 1.5, "sex": 9, "exercise test": 4}


def hold(session, row):
    """Answer each question from a row of a table until the session stops; what is missing there is declined."""
    order = []
    while (question := session.ask()) is not None:
        values = {c.name: row[c.name] for c in question.columns}
        if all(is_missing(v) for v in values.values()):
            session.decline(question.name)
            continue
        session.tell(question.name, values if len(values) > 1 else values[question.columns[0].name])
        order.append(question.name)
    return order


@pytest.mark.parametrize("costs", [None, OTHER_COSTS])
@pytest.mark.parametrize(
    "stop", [None, Budget(21), Confidence(0.3), Penalty(0.01), AverageCost(15), Budget(18) | Penalty(0.002)]
)
def test_session_asks_what_the_trace_asked(clinic, new_cases, stop, costs):
    """Rows with holes in columns, panels and free columns: order, spent, answer and reason are the same."""
    X, y = new_cases
    if costs is not None and isinstance(stop, AverageCost):
        clinic = copy.deepcopy(clinic)
        clinic.frontier(X, y, costs=costs)
    acquired = clinic.acquire(X, stop=stop, costs=costs)
    for i, (_, row) in enumerate(X.iterrows()):
        known = {} if is_missing(row["age"]) else {"age": row["age"]}
        session = clinic.session(stop=stop, known=known, costs=costs)
        for name in clinic.model_.schema.space.names:
            if all(is_missing(row[c.name]) for c in clinic.model_.schema.columns_of(name)):
                session.decline(name)
        assert hold(session, row) == acquired.order[i]
        assert session.spent == pytest.approx(acquired.spent[i])
        assert list(session.prediction.proba.values()) == pytest.approx(acquired.proba[i].tolist(), abs=1e-6)
        assert session.reason == acquired.reason[i]


@pytest.mark.parametrize("stop", [None, Penalty(0.01), Confidence(0.3), Budget(21)])
def test_a_session_that_declines_when_asked_ends_where_the_trace_ends(clinic, new_cases, stop):
    """What can't be had need not be said beforehand: a refusal on asking leads to the same questions and answer."""
    X = new_cases[0].head(30)
    acquired = clinic.acquire(X, stop=stop)
    for i, (_, row) in enumerate(X.iterrows()):
        session = clinic.session(stop=stop, known={} if is_missing(row["age"]) else {"age": row["age"]})
        assert hold(session, row) == acquired.order[i]
        assert list(session.prediction.proba.values()) == pytest.approx(acquired.proba[i].tolist(), abs=1e-6)


def test_a_regression_session_asks_what_the_trace_asked(progression, diabetes):
    X, _ = diabetes
    acquired = progression.acquire(X.head(25), stop=Penalty(20))
    for i, (_, row) in enumerate(X.head(25).iterrows()):
        session = progression.session(stop=Penalty(20))
        assert hold(session, row) == acquired.order[i]
        assert session.prediction.value == pytest.approx(acquired.prediction[i])
        assert session.prediction.proba is None
        assert session.reason == acquired.reason[i]


@pytest.mark.parametrize("settings", [{"share_trunk": True, "layers": 1}, {"scaling": "positive", "layers": 3}])
def test_sessions_of_other_networks_ask_what_their_trace_asked(iris, fast, settings):
    model = DimeClassifier(costs=[1, 2, 2, 1], **fast, **settings).fit(*iris)
    assert_sessions_follow_the_trace(model, iris[0][::10], Confidence(0.2) | Budget(4))


class Own(nn.Module):
    """A network that only torch can run."""

    def __init__(self, n_outputs):
        super().__init__()
        self.into, self.out = nn.Bilinear(4, 4, 8), nn.Linear(8, n_outputs)

    def forward(self, x, mask):
        return self.out(torch.tanh(self.into(x, mask.to(x.dtype))))


def test_a_session_runs_modules_of_ones_own(iris, fast):
    model = DimeClassifier(predictor=Own(3), value=Own(4), **fast).fit(*iris)
    assert_sessions_follow_the_trace(model, iris[0][::10], Budget(3))


def assert_sessions_follow_the_trace(model, X, stop):
    acquired = model.acquire(X, stop=stop)
    for i, values in enumerate(X):
        session = model.session(stop=stop)
        assert hold(session, {f"x{c}": v for c, v in enumerate(values)}) == acquired.order[i]
        assert list(session.prediction.proba.values()) == pytest.approx(acquired.proba[i].tolist(), abs=1e-6)
        assert session.reason == acquired.reason[i]


def test_answers_are_encoded_as_the_rows_of_a_table(clinic, new_cases):
    """To the bit, also far outside of the range of training."""
    schema = clinic.model_.schema
    X = new_cases[0].assign(scan=new_cases[0]["scan"] ** 5)
    rows = schema.encode(X)
    for i, (_, row) in enumerate(X.iterrows()):
        x, present = np.zeros((1, schema.space.n_entries), np.float32), np.zeros((1, len(schema.columns)), bool)
        for name, value in row.items():
            if not is_missing(value):
                schema.put(name, schema.column(name).parse(value), x, present)
        assert np.array_equal(x[0], rows.x[i].numpy())
        assert np.array_equal(present[0], rows.present[i].numpy())


# Rules of one's own


class Sure:
    """A rule of a user's own that was written for tensors."""

    def stops(self, step):
        return torch.softmax(step.belief.outputs, 1).amax(1).gt(0.6) | torch.isnan(step.spent)


class SureToo(Budget):
    """One of our rules with a part of it changed."""

    def stops(self, step):
        return super().stops(step) | Sure().stops(step)


@pytest.mark.parametrize("stop", [Sure(), Budget(3) | Sure(), AnyOf((Budget(9), AnyOf((Sure(),)))), SureToo(2)])
def test_a_rule_that_calls_torch_stops_a_session_where_it_stops_the_trace(flowers, iris, stop):
    assert not takes_arrays(stop)
    assert_sessions_follow_the_trace(flowers, iris[0][::10], stop)


def test_our_rules_run_without_tensors():
    assert all(map(takes_arrays, [None, *(rule(1) for rule in RULES.values()), Budget(1) | Penalty(1)]))


def test_a_step_that_a_rule_keeps_does_not_change_with_later_answers(flowers):
    class Keeps:
        def stops(self, step):
            self.step = step
            return step.spent > 9

    rule = Keeps()
    session = flowers.session(stop=rule)
    session.tell("x0", 5.0)
    assert session.reason is None
    session.tell("x1", 3.0)
    assert rule.step.known.tolist() == [[True, False, False, False]]


# Questions


def test_a_question_has_its_columns_cost_and_value(clinic):
    session = clinic.session()
    best = session.ranking[0]
    question = session.ask()
    assert (question.name, question.cost, question.value) == (best.name, best.cost, best.value)
    assert question.value_per_cost == best.value_per_cost == pytest.approx(best.value / best.cost)
    panel = next(clinic.model_.schema.columns_of(c.name) for c in session.ranking if c.name == "exercise test")
    assert [c.name for c in panel] == ["rate", "pain"]


def test_asking_twice_gives_the_same_question_and_changes_nothing(clinic):
    session = clinic.session()
    assert session.ask() == session.ask()
    assert session.answers == {}
    assert session.spent == 0


def test_the_ranking_is_every_open_group_best_first(clinic, cases):
    session = clinic.session()
    session.tell("pressure", 130)
    session.decline("site")
    ranking = session.ranking
    assert {c.name for c in ranking} == {"sex", "exercise test", "smoker", "scan"}
    per_cost = [c.value_per_cost for c in ranking]
    assert per_cost == sorted(per_cost, reverse=True)
    nothing = cases[0].head(1).copy().astype(object)
    nothing[:] = None
    nothing["pressure"] = 130.0
    found = clinic.information(nothing).iloc[0]
    assert {c.name: c.value for c in ranking} == pytest.approx(found[[c.name for c in ranking]].to_dict())


def test_the_first_of_the_ranking_is_asked_also_on_ties(flowers):
    assert flowers.session().ranking[0].name == flowers.session().ask().name


def test_declining_costs_nothing_and_is_not_asked_again(clinic):
    session = clinic.session()
    first = session.ask().name
    before = session.prediction
    session.decline(first)
    assert session.spent == 0
    assert session.prediction == before
    assert session.declined == [first]
    assert first not in [c.name for c in session.ranking]


def test_telling_none_is_declining(clinic):
    session = clinic.session()
    session.tell("scan", None)
    session.tell("exercise test", {"rate": None, "pain": float("nan")})
    assert session.declined == ["scan", "exercise test"]
    assert session.spent == 0


def test_telling_is_allowed_for_any_open_group_asked_or_not(clinic):
    session = clinic.session(stop=Budget(0))
    assert session.ask() is None
    session.tell("scan", 2.0)
    assert session.spent == 40
    assert session.asked == ["scan"]


# Panels


def test_a_panel_takes_a_mapping_where_none_is_not_available(clinic):
    whole, part, short = clinic.session(), clinic.session(), clinic.session()
    whole.tell("exercise test", {"rate": 140, "pain": "often"})
    part.tell("exercise test", {"rate": 140, "pain": None})
    short.tell("exercise test", {"rate": 140})
    assert whole.spent == part.spent == 15
    assert whole.prediction != part.prediction
    assert part.prediction == short.prediction
    assert "exercise test" not in [c.name for c in part.ranking]


def test_a_panel_told_column_by_column_is_one_purchase(clinic):
    at_once, in_turn = clinic.session(), clinic.session()
    at_once.tell("exercise test", {"rate": 140, "pain": "often"})
    in_turn.tell("pain", "often")
    in_turn.tell("rate", 140)
    assert in_turn.spent == 15
    assert in_turn.asked == ["exercise test"]
    assert in_turn.prediction == at_once.prediction


@pytest.mark.parametrize("order", [("rate", "pain"), ("pain", "rate")])
def test_one_column_of_a_panel_may_be_unavailable_when_told_by_column(clinic, order):
    """None for one column says that this column can't be had; it is no refusal of the panel."""
    answers = {"rate": 140, "pain": None}
    session = clinic.session()
    for name in order:
        session.tell(name, answers[name])
    expected = clinic.session()
    expected.tell("exercise test", answers)
    assert session.prediction == expected.prediction
    assert session.spent == 15


def test_a_panel_needs_a_mapping_of_its_columns(clinic):
    with pytest.raises(AskwiseError, match="'exercise test' has 2 columns; tell it a mapping"):
        clinic.session().tell("exercise test", 140)
    with pytest.raises(AskwiseError, match="unknown column of 'exercise test': 'raet'; did you mean 'rate'"):
        clinic.session().tell("exercise test", {"raet": 140})


# Free columns


def test_known_gives_the_values_of_free_columns(clinic):
    young, old = clinic.session(known={"age": 20}), clinic.session(known={"age": 90})
    assert young.prediction.proba["sick"] < old.prediction.proba["sick"]
    assert young.spent == 0
    assert young.answers == {"age": 20}


def test_a_free_column_may_be_told_and_costs_nothing(clinic):
    session = clinic.session()
    session.tell("age", 20)
    assert session.prediction == clinic.session(known={"age": 20}).prediction
    assert session.spent == 0
    assert session.asked == []


def test_a_free_column_told_as_missing_is_unknown_and_can_be_undone(clinic):
    session = clinic.session()
    session.tell("age", None)
    assert session.prediction == clinic.session().prediction
    assert session.undo() == "age"


def test_a_free_column_is_never_asked_and_can_not_be_declined(clinic, cases):
    row = cases[0].dropna().iloc[0]
    assert "age" not in hold(clinic.session(), row)
    with pytest.raises(AskwiseError, match="'age' is free: it is never asked, so it can't be declined"):
        clinic.session().decline("age")


def test_known_takes_free_columns_only(clinic):
    with pytest.raises(AskwiseError, match=r"'scan' is not free: give its value with tell\(\)"):
        clinic.session(known={"scan": 3})
    with pytest.raises(AskwiseError, match="'agee'; did you mean 'age'"):
        clinic.session(known={"agee": 3})


# Rebuilding


def test_a_session_is_rebuilt_from_its_answers_in_any_order(clinic):
    session = clinic.session(stop=Budget(50), known={"age": 63})
    session.tell("pressure", 150)
    session.tell("exercise test", {"rate": 140, "pain": None})
    session.tell("smoker", "yes")
    session.decline("scan")
    for answers in itertools.permutations(session.answers.items()):
        again = Session.from_answers(clinic, dict(answers), declined=["scan"], stop=Budget(50))
        assert again.ask() == session.ask()
        assert again.prediction == session.prediction
        assert again.ranking == session.ranking
        assert again.spent == session.spent
        assert again.reason == session.reason


TENTHS = {"sex": 0.1, "pressure": 0.2, "exercise test": 0.3, "smoker": 0.7, "scan": 0.1, "site": 0.6}
SAID = {"age": 63, "sex": "male", "pressure": 150, "rate": 140, "pain": "often", "smoker": True, "scan": 2.5}


@settings(max_examples=60, deadline=None)
@given(
    order=st.permutations(list(SAID)),
    count=st.integers(0, len(SAID)),
    stop=st.sampled_from([None, Budget(0.6), Budget(1.4), Penalty(0.01), Confidence(0.2)]),
    data=st.data(),
)
def test_the_order_of_the_answers_changes_nothing_to_the_last_bit(clinic, order, count, stop, data):
    told = order[:count]
    first, second = (
        Session.from_answers(clinic, {name: SAID[name] for name in names}, stop=stop, costs=TENTHS)
        for names in (told, data.draw(st.permutations(told)))
    )
    assert first.spent == second.spent
    assert first.prediction == second.prediction
    assert first.ranking == second.ranking
    assert first.reason == second.reason
    assert first.ask() == second.ask()


def test_what_was_spent_is_the_sum_of_the_prices_rounded_once(clinic):
    """Added one by one, 0.1 + 0.2 + 0.3 and 0.3 + 0.2 + 0.1 differ in the last bit."""
    names = ["sex", "pressure", "exercise test"]
    told = {"sex": "male", "pressure": 150, "exercise test": {"rate": 140, "pain": "often"}}
    for order in itertools.permutations(names):
        session = Session.from_answers(clinic, {name: told[name] for name in order}, costs=TENTHS)
        assert session.spent == 0.6


TELLING = {
    "age": ("age", 44), "pressure": ("pressure", 150), "scan": ("scan", None), "sex": ("sex", "male"),
    "panel": ("exercise test", {"rate": 140, "pain": "often"}), "rate": ("rate", 140), "pain": ("pain", "seldom"),
    "no rate": ("rate", None), "no pain": ("pain", None),
}  # fmt: skip
DECLINING = ("smoker", "pressure", "exercise test")


@settings(max_examples=60, deadline=None)
@given(said=st.lists(st.sampled_from([*TELLING, *(f"no {n}" for n in DECLINING), "undo"]), max_size=12))
def test_whatever_was_said_and_undone_the_answers_alone_rebuild_the_session(clinic, said):
    session = clinic.session(stop=Budget(45))
    for word in said:
        # What is not open, or was never said, is refused and leaves the session as it was.
        with contextlib.suppress(AskwiseError):
            if word == "undo":
                session.undo()
            elif word in TELLING:
                session.tell(*TELLING[word])
            else:
                session.decline(word.removeprefix("no "))
    again = Session.from_answers(clinic, session.answers, declined=session.declined, stop=Budget(45))
    assert again.prediction == session.prediction
    assert again.ranking == session.ranking
    assert again.spent == session.spent
    assert again.reason == session.reason


def test_a_panel_named_after_one_of_its_columns_is_rebuilt_from_its_answers(cases, fast):
    model = DimeClassifier(groups={"rate": ["rate", "pain"]}, **fast).fit(*cases)
    session = model.session()
    session.tell("rate", {"rate": 140, "pain": "often"})
    for answers in (session.answers, dict(reversed(session.answers.items()))):
        again = Session.from_answers(model, answers)
        assert again.prediction == session.prediction
        assert again.spent == session.spent == 1


def test_answers_may_be_keyed_by_column_or_group(clinic):
    by_group = Session.from_answers(clinic, {"exercise test": {"rate": 140, "pain": "often"}, "age": 63})
    by_column = Session.from_answers(clinic, {"age": 63, "pain": "often", "rate": 140})
    assert by_group.prediction == by_column.prediction
    assert by_group.spent == by_column.spent == 15


def test_a_session_is_rebuilt_under_other_costs(clinic):
    session = Session.from_answers(clinic, {"scan": 2}, costs={"scan": 3}, stop=Budget(4))
    assert session.spent == 3


# Undo


def test_undo_takes_back_the_last_answer_or_refusal(clinic):
    session = clinic.session(known={"age": 40})
    states = []
    for tell in (
        lambda: session.tell("pressure", 150),
        lambda: session.decline("scan"),
        lambda: session.tell("exercise test", {"rate": 140}),
        lambda: session.tell("sex", "male"),
    ):
        states.append((session.prediction, session.spent, session.ranking, session.declined, session.answers))
        tell()
    for name, state in zip(["sex", "exercise test", "scan", "pressure"], reversed(states), strict=True):
        assert session.undo() == name
        assert (session.prediction, session.spent, session.ranking, session.declined, session.answers) == state


def test_answers_given_and_taken_back_many_times_leave_no_trace(clinic):
    """Not even by rounding: a thousand changes later, the numbers are those of a new session."""
    session, values = clinic.session(), np.random.default_rng(0).normal(scale=1e3, size=500)
    for value in values:
        session.tell("scan", value)
        assert session.ask() is not None
        session.undo()
    session.tell("exercise test", {"rate": 140, "pain": "often"})
    session.tell("pressure", 150)
    new = Session.from_answers(clinic, {"pressure": 150, "pain": "often", "rate": 140})
    assert session.prediction == new.prediction
    assert session.ranking == new.ranking


def test_undo_with_nothing_said_is_an_error(clinic):
    with pytest.raises(AskwiseError, match="there is nothing to undo"):
        clinic.session(known={"age": 40}).undo()


# Mistakes


def test_telling_or_declining_what_is_not_open_is_an_error(clinic):
    session = clinic.session(known={"age": 40})
    session.tell("pressure", 150)
    session.decline("scan")
    for call in (lambda: session.tell("pressure", 3), lambda: session.decline("pressure")):
        with pytest.raises(AskwiseError, match="'pressure' is not open: it is known already; open: 'sex'"):
            call()
    for call in (lambda: session.tell("scan", 3), lambda: session.decline("scan")):
        with pytest.raises(AskwiseError, match="'scan' is not open: it was declined"):
            call()
    with pytest.raises(AskwiseError, match="'age' is not open"):
        session.tell("age", 41)


@pytest.mark.parametrize("call", ["tell", "decline"])
def test_an_unknown_question_gets_the_nearest_name(clinic, call):
    with pytest.raises(AskwiseError, match="unknown question 'presure'; did you mean 'pressure'"):
        getattr(clinic.session(), call)(*(["presure", 3] if call == "tell" else ["presure"]))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("pressure", "high", "'pressure' takes a number, was given 'high'"),
        ("pressure", float("inf"), "takes a finite number"),
        ("pressure", [1, 2], "takes a number"),
        ("smoker", "maybe", "'smoker' takes yes or no, was given 'maybe'"),
        ("sex", "other", "'sex' takes one of 'female', 'male'; was given 'other'"),
    ],
)
def test_an_impossible_value_is_an_error_that_says_what_is_possible(clinic, name, value, message):
    session = clinic.session()
    with pytest.raises(AskwiseError, match=message):
        session.tell(name, value)
    assert session.answers == {}
    assert session.ask() is not None


@pytest.mark.parametrize(
    ("name", "value", "meant"),
    [("pressure", " 130.5 ", 130.5), ("smoker", "Yes", True), ("smoker", 0, False), ("sex", "MALE", "male")],
)
def test_answers_are_read_as_a_person_writes_them(clinic, name, value, meant):
    session = clinic.session()
    session.tell(name, value)
    assert session.answers == {name: meant}


def test_a_session_needs_a_fitted_model():
    with pytest.raises(Exception, match="not fitted"):
        DimeClassifier().session()


def test_predictions_name_the_labels(clinic, flowers):
    prediction = clinic.session().prediction
    assert set(prediction.proba) == {"sick", "well"}
    assert prediction.value == max(prediction.proba, key=prediction.proba.get)
    assert sum(prediction.proba.values()) == pytest.approx(1)
    assert set(flowers.session().prediction.proba) == {0, 1, 2}


def test_the_constructors_rule_is_used_where_none_is_given(iris, fast):
    model = DimeClassifier(stop=Budget(2), **fast).fit(*iris)
    session = model.session()
    assert hold(session, {f"x{i}": v for i, v in enumerate(iris[0][70])}) == model.acquire(iris[0][[70]]).order[0]
    assert session.reason == "budget"
    assert session.spent == 2


def test_once_everything_is_told_the_session_says_so(flowers, iris):
    session = flowers.session()
    order = hold(session, {f"x{i}": v for i, v in enumerate(iris[0][0])})
    assert sorted(order) == ["x0", "x1", "x2", "x3"]
    assert session.reason == "nothing-left"
    assert session.ranking == []
    assert np.allclose(list(session.prediction.proba.values()), flowers.predict_proba(iris[0][[0]])[0])


def test_a_session_without_a_rule_uses_the_estimators(cases, fast):
    model = DimeClassifier(stop=Budget(0), **fast).fit(*cases)
    assert model.session().reason == "budget"
    assert Session.from_answers(model, {}).reason == "budget"
    assert Session(model.model_).reason is None


def test_what_is_wrong_does_not_depend_on_the_order_it_was_given_in(clinic):
    """A column beside its panel, in two orders: refused alike."""
    given = [{"rate": 140, "exercise test": {"pain": "none"}}, {"exercise test": {"rate": 5}, "rate": None}]
    for answers in given:
        for order in (answers, dict(reversed(answers.items()))):
            with pytest.raises(AskwiseError, match="'rate' is given twice") as refused:
                Session.from_answers(clinic, order)
            assert refused.value.about == "rate"


def test_a_history_told_to_another_session_means_the_same(clinic):
    first = clinic.session()
    first.tell("rate", 140)
    first.tell("pain", "none")
    first.decline("scan")
    second = clinic.session()
    for event in first.history:
        second.hear(event)
    assert (second.answers, second.declined, second.spent) == (first.answers, first.declined, first.spent)


def test_that_a_column_can_not_be_had_is_told_once(clinic):
    session = clinic.session()
    session.tell("age", None)
    with pytest.raises(AskwiseError, match="known already"):
        session.tell("age", None)
    session.tell("age", 50)
    assert session.answers == {"age": 50.0}
