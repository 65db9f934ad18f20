"""What every rule of RULES promises, and that one class and one line are all that another takes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
import torch

from askwise import AskwiseError, Budget, DimeClassifier, Rule, load
from askwise.cli.ask import RULES_HELP
from askwise.core.stopping import RULES, AnyOf, NumberRule, check_rule, parse_rule, rules_help, takes_arrays
from askwise.service.bodies import REASON, STOP
from askwise.session.replies import in_words


@dataclass(frozen=True)
class Questions(NumberRule):
    """Ask at most n questions."""

    n: float
    name: ClassVar[str] = "questions"
    what: ClassVar[str] = "a number of questions"
    runs_on_numpy: ClassVar[bool] = True

    def stops(self, step):
        return step.n_asked >= self.n


@pytest.mark.parametrize("name", RULES)
def test_a_rule_is_known_by_its_name_and_has_words_for_its_number(name):
    rule = RULES[name]
    assert rule.name == name
    assert re.match(r"an? \w", rule.what)
    assert parse_rule(f"{name}=3") == rule(3)
    assert rule(3).number == 3


@pytest.mark.parametrize("name", RULES)
def test_a_rule_is_named_wherever_rules_are_listed(name):
    written = f"{name}={RULES[name].unit}"
    for text in (rules_help(), RULES_HELP, STOP):
        assert written in text
    assert rules_help() == RULES_HELP
    with pytest.raises(AskwiseError, match=re.escape(f"{RULES[name].__name__}(")):
        check_rule(5, None, None)


@pytest.mark.parametrize("name", RULES)
def test_the_reason_of_a_rule_is_told_in_its_own_words(name):
    assert in_words(name) == (RULES[name].why or name)
    assert (name in REASON) == bool(RULES[name].why)


@pytest.mark.parametrize("name", RULES)
def test_a_rule_of_ours_runs_on_numpy_and_a_subclass_that_stops_otherwise_does_not(name):
    ours = RULES[name]

    class Renamed(ours):
        name = "renamed"

    class Other(ours):
        def stops(self, step):
            return torch.isnan(step.spent)

    class Choosy(ours):
        def allows(self, spent, costs):
            del spent
            return torch.isfinite(costs)

    class Declared(Other):
        runs_on_numpy = True

    class Below(Declared):
        pass

    assert [takes_arrays(rule(1)) for rule in (ours, Renamed, Declared, Below)] == [True] * 4
    assert [takes_arrays(rule(1)) for rule in (Other, Choosy)] == [False] * 2
    assert not takes_arrays(ours(1) | Other(1))


def test_a_subclass_that_gets_another_stops_from_a_second_base_does_not_run_on_numpy():
    class Sure:
        def stops(self, step):
            return torch.isnan(step.spent)

    class Both(Sure, Budget):
        pass

    class Joined(AnyOf):
        def stops(self, step):
            return super().stops(step) & torch.isfinite(step.spent)

    assert not takes_arrays(Both(1))
    assert not takes_arrays(Joined((Budget(1),)))
    assert not takes_arrays(type("Own", (Rule,), {"stops": Sure.stops})())


def test_one_class_and_one_line_make_a_rule(monkeypatch, iris, tmp_path, fast):
    monkeypatch.setitem(RULES, "questions", Questions)
    X, y = iris
    rule = parse_rule("questions=2|budget=3")
    assert rule == Questions(2) | Budget(3)
    assert "questions=N" in rules_help()
    with pytest.raises(AskwiseError, match=r"AverageCost\(k\), Questions\(n\), or an object"):
        check_rule(5, None, None)
    with pytest.raises(AskwiseError, match="a number of questions takes a number of at least 0"):
        parse_rule("questions=-1")
    model = DimeClassifier(stop=Questions(2), **fast).fit(X, y)
    model.save(tmp_path / "m.askwise")
    again = load(tmp_path / "m.askwise")
    assert again.stop == Questions(2)
    acquired = again.acquire(X)
    assert set(acquired.n_asked) == {2}
    assert set(acquired.reason) == {"questions"}
    session = again.session()
    for value in X[0, :2]:
        session.tell(session.ask().name, value)
    assert (session.ask(), session.reason) == (None, "questions")
    assert isinstance(session._moment.step.known, np.ndarray)
