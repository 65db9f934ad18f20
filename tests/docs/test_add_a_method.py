"""The method and the rule that the documentation shows run as they stand, and every place it names is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from askwise import METHODS, Budget, Penalty, load
from askwise.core.errors import AskwiseError
from askwise.methods.registry import method_for

ROOT = Path(__file__).parents[2]
PAGES = {name: (ROOT / name).read_text(encoding="utf-8") for name in ("docs/add-a-method.md", "docs/concepts.md")}


def run_example(page):
    """The names that the first Python block of a page defines."""
    (block, *_) = re.findall(r"```python\n(.*?)```", PAGES[page], flags=re.DOTALL)
    names = {"__name__": __name__}
    exec(compile(block, page, "exec", dont_inherit=True), names)
    return names


def test_the_example_of_a_method_fits_asks_and_is_found_by_its_short_name(iris, tmp_path, monkeypatch):
    method = run_example("docs/add-a-method.md")["MyClassifier"]
    monkeypatch.setitem(METHODS, method.registry_name, method)
    assert method_for("my", "classification") is method
    model = method(hidden=8, epochs=2, random_state=0).fit(*iris)
    assert set(model.acquire(iris[0], stop=Budget(2)).n_asked) == {2}
    with pytest.raises(AskwiseError, match="only an order"):
        model.acquire(iris[0], stop=Penalty(0.1))
    model.save(tmp_path / "m.askwise")
    assert type(load(tmp_path / "m.askwise")) is method


def test_the_example_of_a_rule_stops_batches_and_sessions(flowers, iris):
    rule = run_example("docs/concepts.md")["AtMostThreeQuestions"]()
    acquired = flowers.acquire(iris[0], stop=rule)
    assert set(acquired.n_asked) == {3}
    assert set(acquired.reason) == {"three-questions"}
    assert flowers.session(stop=rule).ask() is not None


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("methods/registry.py", ["METHODS", "IMAGE_METHODS", "-classifier", "-regressor"]),
        ("__init__.py", ["TYPE_CHECKING", "_LAZY", "__all__"]),
        ("studies/compare/method_styles.py", ["STYLES"]),
        ("studies/compare/plan.py", ["EFFORT"]),
        ("core/rows.py", ["def in_memory", "present", "available"]),
        ("core/stopping.py", ["class Confidence(NumberRule)", "RULES"]),
        ("core/rule.py", ["class NumberRule"]),
        ("cli/ask.py", ["RULES_HELP"]),
        ("evaluation/curves.py", ["def _rules"]),
        ("report/plots/style.py", ["RULES ="]),
        ("service/web/stopping_rules.js", ["WORDS", "pointsOf", "ruleKinds"]),
    ],
)
def test_the_places_that_are_named_are_there(place, words):
    text = (ROOT / "src" / "askwise" / place).read_text(encoding="utf-8")
    assert all(word in text for word in words)
