"""When to stop, alone and in combination."""

import math
import warnings

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from askwise import AskwiseError, AskwiseWarning, AverageCost, Budget, Confidence, DimeClassifier, Penalty, Rule
from askwise.core.blend import Blend
from askwise.core.prices import Prices
from askwise.core.rows import Rows
from askwise.core.stopping import RULES, AnyOf, check_rule, parse_rule, resolve_rule
from askwise.core.tasks import Classification, Regression
from askwise.core.trace import rollout


class AtMost:
    """A rule of a user's own: one method, no base class."""

    def __init__(self, n):
        self.n = n

    def stops(self, step):
        return step.n_asked >= self.n


class Sated(Rule):
    """A rule of a user's own on our base, with a name."""

    name = "sated"

    def stops(self, step):
        return step.spent >= 3


def run(policy, rule, n_rows=1, present=None):
    n = policy.space.n_groups
    present = torch.ones(n_rows, n, dtype=torch.bool) if present is None else torch.tensor(present, dtype=torch.bool)
    rows = Rows(torch.zeros(present.shape, dtype=torch.float64), present, present)
    trace = rollout(policy, rows, Prices.tensor(policy.space.costs), [rule], walked_by=rule)
    order = [[g for g in row if g >= 0] for row in trace.choice.T.tolist()]
    return order[0], trace.stops[0].reason[0]


# Budget


def test_a_budget_goes_on_with_the_best_affordable_group(table_policy):
    """Best first: a. Then b no longer fits, c does; d does not fit after c."""
    policy = table_policy([4, 5, 2, 1.5], [100, 50, 5, 3])
    assert run(policy, Budget(7)) == ([0, 2], "budget")


def test_a_budget_that_pays_for_all_ends_with_nothing_left(table_policy):
    assert run(table_policy([1, 2], [1, 1]), Budget(3)) == ([0, 1], "nothing-left")


def test_a_budget_of_nothing_asks_nothing(table_policy):
    assert run(table_policy([1, 2], [1, 1]), Budget(0)) == ([], "budget")


def test_three_prices_of_a_tenth_fit_a_budget_of_three_tenths(table_policy):
    assert run(table_policy([0.1] * 4, [4, 3, 2, 1]), Budget(0.3)) == ([0, 1, 2], "budget")


def test_an_infinite_budget_is_no_budget(table_policy):
    assert run(table_policy([1, 2], [1, 1]), Budget(math.inf))[1] == "nothing-left"


# Confidence


def test_confidence_stops_when_the_entropy_is_at_most_m(table_policy):
    half = table_policy([1, 1], [1, 1], outputs=(0.0, 0.0))
    assert run(half, Confidence(0.7)) == ([], "confidence")
    assert run(half, Confidence(math.log(2) - 1e-9)) == ([0, 1], "nothing-left")


def test_confidence_looks_at_the_entropy_not_at_the_largest_probability(table_policy):
    """Both have a largest probability of a half; three classes are less certain than two."""
    two, three = (0.0, 0.0, -1e9), tuple(np.log([0.5, 0.25, 0.25]))
    assert run(table_policy([1], [1], outputs=two), Confidence(0.8))[1] == "confidence"
    assert run(table_policy([1], [1], outputs=three), Confidence(0.8))[1] == "nothing-left"


def test_confidence_on_a_regression_is_an_error(progression, diabetes):
    X, _ = diabetes
    for rule in (Confidence(0.1), Budget(3) | Confidence(0.1)):
        with pytest.raises(AskwiseError, match=r"predicts a number; use a budget"):
            progression.predict(X, stop=rule)
        with pytest.raises(AskwiseError, match="predicts a number"):
            progression.session(stop=rule)


# Penalty


def test_a_penalty_stops_when_the_best_value_per_cost_is_below_it(table_policy):
    policy = table_policy([1, 2, 4], [4, 4, 4])
    assert run(policy, Penalty(1.5)) == ([0, 1], "penalty")
    assert run(policy, Penalty(1.0)) == ([0, 1, 2], "nothing-left")  # not below: 1 is worth 1


def test_a_penalty_of_zero_asks_everything_even_what_is_worth_nothing(table_policy):
    assert run(table_policy([1, 1], [0, -1]), Penalty(0)) == ([0, 1], "nothing-left")


def test_a_penalty_looks_only_at_what_is_available(table_policy):
    policy = table_policy([1, 1, 1], [9, 0.1, 0.2])
    assert run(policy, Penalty(0.5), present=[[0, 1, 1]]) == ([], "penalty")


def test_a_penalty_with_a_budget_looks_only_at_what_is_affordable(table_policy):
    """The dear group is worth its price but can't be paid; the cheap one is not worth it."""
    policy = table_policy([10, 1], [100, 0.1])
    assert run(policy, Budget(5) | Penalty(0.5)) == ([], "penalty")


def test_many_penalties_at_once_stop_each_row_where_each_of_them_stops_it(table_policy):
    """Values fall and rise again; some penalties are values that occur, to the last bit or but for rounding."""
    by_known = {(0,): [0, 0.3, 0.7, 0.1], (0, 2): [0, 0.5, 0, 0.1], (0, 1, 2): [0, 0, 0, -1]}
    policy = table_policy([1] * 4, [1, 0.9, 0.2, 0.1], by_known=by_known)
    present = torch.tensor([[1, 1, 1, 1], [1, 0, 1, 1], [0, 1, 0, 0], [0, 0, 0, 0]]) > 0
    rows = Rows(torch.zeros(4, 4, dtype=torch.float64), present, present)
    penalties = [math.inf, 1.1, 1.0, 0.9 * (1 + 1e-10), 0.9, 0.7 * (1 + 1e-8), 0.5, 0.3, 0.1, 1e-9, 0.0]
    trace = rollout(policy, rows, Prices.tensor([1] * 4), [None, *map(Penalty, penalties)])
    found = np.array(list(Penalty.steps_of_many(trace.best.numpy(), penalties))).T
    assert found.tolist() == [stop.at.tolist() for stop in trace.stops[1:]]


def test_a_penalty_needs_scores_that_are_information(table_policy):
    order = table_policy([1, 1], [1, 2], is_information=False)
    task = Classification(("a", "b"))
    for rule in (Penalty(0.1), Budget(2) | Penalty(0.1), Blend(0.1)):
        with pytest.raises(AskwiseError, match="only an order"):
            check_rule(rule, task, order)
    check_rule(Budget(2) | Confidence(0.1) | AverageCost(3) | Blend(0.1, weight=0), task, order)


# Combination


def test_rules_combine_and_the_one_that_stopped_is_the_reason(table_policy):
    policy = table_policy([1, 1, 1, 1], [4, 3, 2, 1])
    assert run(policy, Budget(3) | Penalty(2.5)) == ([0, 1], "penalty")
    assert run(policy, Budget(1) | Penalty(2.5)) == ([0], "budget")
    assert run(policy, Penalty(0.5) | Budget(2) | Confidence(0.1)) == ([0, 1], "budget")


def test_an_own_rule_is_a_class_with_one_method(table_policy):
    policy = table_policy([1] * 4, [4, 3, 2, 1])
    assert run(policy, AtMost(3)) == ([0, 1, 2], "AtMost")


@pytest.mark.parametrize("rule", [AtMost(2) | Budget(3), Budget(3) | AtMost(2), Penalty(0) | Budget(3) | AtMost(2)])
def test_an_own_rule_combines_on_either_side_of_the_bar(table_policy, rule):
    assert run(table_policy([1] * 4, [4, 3, 2, 1]), rule) == ([0, 1], "AtMost")


def test_an_own_rule_with_a_name_gives_it_as_the_reason(table_policy):
    assert run(table_policy([1] * 4, [4, 3, 2, 1]), Sated()) == ([0, 1, 2], "sated")
    assert run(table_policy([1] * 4, [4, 3, 2, 1]), Sated() | AtMost(9)) == ([0, 1, 2], "sated")


def test_an_own_rule_runs_in_acquire_predict_and_session(flowers, iris):
    X, _ = iris
    acquired = flowers.acquire(X, stop=AtMost(2))
    assert set(acquired.n_asked) == {2}
    assert set(acquired.reason) == {"AtMost"}
    assert np.array_equal(flowers.predict_proba(X, stop=AtMost(2)), acquired.proba)
    assert flowers.session(stop=AtMost(0)).reason == "AtMost"


@pytest.mark.parametrize("wrong", [5, "budget=5", Budget, object()])
def test_what_is_not_a_rule_is_an_error_that_names_the_rules(flowers, iris, wrong):
    with pytest.raises(AskwiseError, match=r"not a stopping rule; give Budget\(k\)"):
        flowers.predict(iris[0], stop=wrong)


# Numbers and text


@pytest.mark.parametrize("rule", RULES.values())
@pytest.mark.parametrize("wrong", [-1, math.nan, "5", None, True, 10**400])
def test_a_rule_takes_a_number_of_at_least_zero(rule, wrong):
    with pytest.raises(AskwiseError, match="at least 0, was given"):
        rule(wrong)


@pytest.mark.parametrize(
    "rule",
    [make(number) for make in RULES.values() for number in (5, 0.1, 1 / 3, 1e-9 / 7, 1234567.8, math.inf)],
    ids=str,
)
def test_a_rule_survives_its_text_exactly(rule):
    assert parse_rule(str(rule)) == rule


def test_a_combination_survives_its_text():
    assert parse_rule("budget=5|confidence=0.1") == Budget(5) | Confidence(0.1)
    assert parse_rule(str(Budget(5) | Penalty(0.1))) == AnyOf((Budget(5), Penalty(0.1)))


@pytest.mark.parametrize(
    ("text", "message"),
    [("bugdet=5", "did you mean 'budget'"), ("budget", "no '=' was given"), ("budget=lots", "needs a number")],
)
def test_a_text_that_is_no_rule_says_what_is(text, message):
    with pytest.raises(AskwiseError, match=message):
        parse_rule(text)


NAMES = st.sampled_from([*RULES, " budget ", "bugdet", "", "=", "|"])
NUMBERS = st.floats(allow_nan=True).map(repr) | st.sampled_from(["1e999", "-inf", "nan", "", "0x5", "1" * 5000, "٣"])
RULE_TEXTS = st.lists(st.tuples(NAMES, NUMBERS).map("=".join) | st.text(max_size=20), max_size=6).map("|".join)


def rule_or_short_error(text):
    """The rule a text stands for, or None where it is refused in a few words."""
    try:
        return parse_rule(text)
    except AskwiseError as error:
        told = str(error)
    assert len(told) < 300
    return None


@settings(max_examples=300, deadline=None)
@given(text=RULE_TEXTS | st.text())
def test_any_text_is_a_rule_that_runs_or_a_short_error(table_policy, text):
    rule = rule_or_short_error(text)
    if rule is not None:
        assert parse_rule(str(rule)) == rule
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AskwiseWarning)
            order, reason = run(table_policy([1, 2], [1, 1]), resolve_rule(rule, lambda: FRONTIER))
        assert set(order) <= {0, 1}
        assert reason in {*RULES, "nothing-left"}


@pytest.mark.parametrize("text", ["", "|", "budget=5|", "|budget=5", "budget=nan", "budget=-inf", "budget=5=5"])
def test_a_text_with_a_part_that_is_no_rule_is_refused(text):
    assert rule_or_short_error(text) is None


@pytest.mark.parametrize(
    ("start", "repeated"), [("", "x"), ("budget=", "x"), ("", "budget"), ("", "|"), ("", "budget=5|")]
)
def test_a_text_of_a_megabyte_is_refused_and_not_echoed(start, repeated):
    assert rule_or_short_error(start + repeated * 10**6) is None


@pytest.mark.parametrize(("text", "rule"), [("budget=inf", Budget(math.inf)), ("penalty=1e999", Penalty(math.inf))])
def test_a_rule_may_have_an_infinite_number(text, rule):
    assert parse_rule(text) == rule


def test_a_text_of_many_parts_runs_and_of_too_many_says_how_many_are_allowed(table_policy):
    many = parse_rule("|".join(f"budget={k}" for k in range(1, 101)))
    assert run(table_policy([1, 1], [1, 2]), many) == ([1], "budget")
    with pytest.raises(AskwiseError, match="has 101 parts joined by bars; at most 100 are allowed"):
        parse_rule("|".join(["budget=1"] * 101))


# AverageCost of files from before there were blends: penalties alone

FRONTIER = {"penalty": [9.0, 0.5, 0.2, 0.0], "mean_cost": [0.0, 2.0, 5.0, 12.0]}


@pytest.mark.parametrize(("k", "penalty"), [(2, 0.5), (4.99, 0.5), (5, 0.2), (11.9, 0.2), (12, 0.0)])
def test_average_cost_takes_the_largest_mean_cost_not_above_k(k, penalty):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert AverageCost(k).resolve(lambda: FRONTIER) == Penalty(penalty)


def test_average_cost_does_not_depend_on_the_order_of_the_frontier():
    backwards = {name: values[::-1] for name, values in FRONTIER.items()}
    assert AverageCost(6).resolve(lambda: backwards) == Penalty(0.2)


def test_average_cost_outside_the_frontier_warns():
    with pytest.warns(AskwiseWarning, match="below the least"):
        assert AverageCost(1).resolve(lambda: FRONTIER) == Penalty(math.inf)
    with pytest.warns(AskwiseWarning, match="above the most"):
        assert AverageCost(13).resolve(lambda: FRONTIER) == Penalty(0.0)


def test_average_cost_outside_the_frontier_of_a_model_warns(clinic, cases):
    with pytest.warns(AskwiseWarning, match=r"an average cost of 1000 is above the most this model spends"):
        spent = clinic.acquire(cases[0], stop=AverageCost(1000)).spent.mean()
    assert spent == pytest.approx(clinic.acquire(cases[0]).spent.mean(), rel=0.05)
    with pytest.warns(AskwiseWarning, match=r"an average cost of 0 is below the least"):
        assert set(clinic.acquire(cases[0], stop=AverageCost(0)).n_asked) == {0}


def test_average_cost_is_kept_on_the_validation_rows(cases, new_cases, fast):
    """On the rows that made the frontier, the mean cost of each of its average costs is the frontier's own."""
    model = DimeClassifier(costs={"scan": 40, "pressure": 2.5}, **fast).fit(*cases, eval_set=new_cases)
    table = model.frontier_[model.frontier_["mean_cost"] > 0]
    assert (table["mean_cost"] <= table["average_cost"] * (1 + 1e-9)).all()
    for point in table.iloc[:: len(table) // 6].itertuples():
        acquired = model.acquire(new_cases[0], stop=AverageCost(point.average_cost))
        assert acquired.spent.mean() == pytest.approx(point.mean_cost)
        assert acquired.expected_cost.low <= point.mean_cost <= acquired.expected_cost.high + 1e-9


def test_the_frontier_goes_from_asking_nothing_to_asking_everything(clinic, cases):
    table = clinic.frontier_
    assert {"penalty", "mean_cost", "mean_groups", "accuracy", "auroc", "log_loss"} <= set(table.columns)
    assert table["mean_cost"].min() == 0
    everything = clinic.acquire(cases[0]).spent.mean()
    assert table["mean_cost"].max() == pytest.approx(everything, rel=0.1)
    assert table.sort_values("mean_cost")["penalty"].is_monotonic_decreasing


def test_average_cost_under_other_costs_needs_a_frontier_first(cases, new_cases, fast):
    model = DimeClassifier(costs={"scan": 40}, **fast).fit(*cases)
    X, y = new_cases
    other = {"scan": 3}
    for call in (model.predict, model.acquire):
        with pytest.raises(AskwiseError, match=r"'scan' costs 3 here and 40 in training; use a budget or a penalty"):
            call(X, stop=AverageCost(5), costs=other)
    with pytest.raises(AskwiseError, match=r"frontier\(X, y, costs=...\)"):
        model.session(stop=AverageCost(5), costs=other)
    table = model.frontier(X, y, costs=other)
    assert table["average_cost"].is_monotonic_increasing
    assert 0 < model.acquire(X, stop=AverageCost(5), costs=other).spent.mean() <= 5
    assert model.session(stop=AverageCost(5), costs=other).ask() is not None


def test_the_trained_costs_spelt_out_need_no_new_frontier(clinic, cases):
    X, _ = cases
    same = {"scan": 40, "exercise test": 15, "pressure": 2.5}
    expected = clinic.acquire(X, stop=AverageCost(20))
    assert clinic.acquire(X, stop=AverageCost(20), costs=same).order == expected.order


def test_the_frontier_ignores_the_rule_it_is_combined_with(clinic, cases):
    X, _ = cases
    stands_for = AverageCost(20).resolve(lambda: clinic.frontier_)
    joined = clinic.acquire(X, stop=AverageCost(20) | Budget(10))
    assert joined.order == clinic.acquire(X, stop=stands_for | Budget(10)).order


def test_average_cost_works_on_a_regression_in_squared_units(progression, diabetes):
    X, _ = diabetes
    spent = progression.acquire(X, stop=AverageCost(8)).spent.mean()
    assert 0 < spent < 11


def test_confidence_check_knows_the_task(table_policy):
    with pytest.raises(AskwiseError):
        check_rule(Confidence(1), Regression(0.0, 1.0), table_policy([1], [1]))


@pytest.mark.parametrize("n_labels", [2, 3])
def test_a_confidence_that_no_prediction_misses_is_warned_of(table_policy, n_labels):
    task, policy, most = Classification(tuple(range(n_labels))), table_policy([1], [1]), math.log(n_labels)
    for rule in (Confidence(most), Budget(3) | Confidence(9)):
        with pytest.warns(AskwiseWarning, match=f"entropy of {n_labels} labels is at most {most:.3f} nats"):
            check_rule(rule, task, policy)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_rule(Confidence(0.999 * most), task, policy)


@pytest.mark.parametrize("shift", [0.0, 1e-12, 1e-8, 1e-7, 1e-6])
@pytest.mark.parametrize("rule", ["penalty", "confidence"])
def test_a_threshold_that_was_read_off_a_session_stops_a_batch_where_it_stops_a_session(clinic, new_cases, rule, shift):
    X = new_cases[0].dropna().iloc[:20]
    for i, (_, row) in enumerate(X.iterrows()):
        known = {"age": row["age"]}
        session = clinic.session(known=known)
        session.tell("sex", row["sex"])
        if rule == "penalty":
            stop = Penalty(session.ask().value_per_cost * (1 - shift))
        else:
            p = np.array(list(session.prediction.proba.values()))
            stop = Confidence(float(-(p * np.log(p)).sum()) * (1 + shift))
        live = clinic.session(stop=stop, known=known)
        while (question := live.ask()) is not None:
            values = {c.name: row[c.name] for c in question.columns}
            live.tell(question.name, values if len(values) > 1 else next(iter(values.values())))
        assert live.asked == clinic.acquire(X.iloc[[i]], stop=stop).order[0]


class Wrong(Rule):
    name = "mine"

    def __init__(self, answer):
        self.answer = answer

    def stops(self, step):
        return self.answer(step)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (lambda step: (step.n_asked >= 2).long(), r"torch.int64 and shape \(\d+,\)"),
        (lambda _: None, "NoneType"),
        (lambda step: [False] * len(step.best), "list"),
        (lambda step: step.values < 0.001, r"torch.bool and shape \(\d+, \d+\)"),
    ],
)
def test_a_rule_that_answers_nonsense_gets_a_clear_error(clinic, new_cases, answer, told):
    with pytest.raises(AskwiseError, match=rf"mine.stops\(step\) must give one bool for each row.*{told}"):
        clinic.acquire(new_cases[0], stop=Wrong(answer))
    with pytest.raises(AskwiseError, match="must give one bool"):
        clinic.session(stop=Wrong(answer)).ask()


def test_a_rule_may_answer_for_all_rows_at_once(clinic, new_cases):
    assert set(clinic.acquire(new_cases[0], stop=Wrong(lambda _: True)).n_asked) == {0}
