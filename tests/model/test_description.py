"""What a model is, as JSON holds it."""

import json

import pytest

from askwise import DimeClassifier
from askwise.model.description import contents_facts, input_facts, model_facts, question_facts
from askwise.model.file import read

QUESTIONS = {
    "age": {"text": "How old?", "unit": "years"},
    "exercise test": {"text": "How did it go?", "help": "Ten minutes"},
    "pain": {"help": "In the chest", "choices": ["none", "seldom", "often"]},
    "smoker": "Do you smoke?",
}


@pytest.fixture(scope="module")
def worded(cases, fast):
    groups = {"exercise test": ["rate", "pain"], "habits": ["smoker"]}
    return DimeClassifier(groups=groups, free=["age"], costs={"scan": 4}, questions=QUESTIONS, **fast).fit(*cases)


@pytest.fixture(scope="module")
def schema(worded):
    return worded.model_.schema


def test_an_input_says_what_it_takes(schema):
    words = {"name": "age", "text": "How old?", "help": "", "unit": "years", "kind": "number", "choices": None}
    age = schema.column("age")
    numbers = {"low": age.low, "high": age.high, "whole": True, "min": None, "max": None, "others": True}
    assert input_facts(schema, age) == {**words, **numbers, "offered": None, "shape": None}
    pain = input_facts(schema, schema.column("pain"))
    assert (pain["kind"], pain["choices"]) == ("category", ["none", "seldom", "often"])
    assert (pain["low"], pain["high"], pain["whole"]) == (None, None, None)
    smoker = input_facts(schema, schema.column("smoker"))
    assert (smoker["kind"], smoker["choices"], smoker["high"]) == ("boolean", None, None)


def test_a_panel_has_its_own_words_and_those_of_its_inputs(schema):
    panel = question_facts(schema, "exercise test", 2.5)
    assert (panel["text"], panel["help"], panel["cost"]) == ("How did it go?", "Ten minutes", 2.5)
    assert [(i["name"], i["help"]) for i in panel["inputs"]] == [("rate", ""), ("pain", "In the chest")]


def test_a_group_of_one_column_has_the_words_of_its_column(schema):
    assert question_facts(schema, "habits", 1.0)["text"] == "Do you smoke?"


def test_a_model_and_its_file_have_the_same_facts_in_strict_json(worded, tmp_path):
    worded.save(tmp_path / "m.askwise")
    facts = model_facts(worded)
    assert json.loads(json.dumps(facts, allow_nan=False)) == facts == contents_facts(read(tmp_path / "m.askwise"))
    parts = ["method", "task", "target", "image", "questions", "shared_prices", "free", "frontier"]
    parts += ["curve", "settings", "card"]
    assert list(facts) == parts
    assert facts["image"] is None
    assert [question["name"] for question in facts["questions"]] == list(worded.model_.schema.space.names)
    assert {"scan": 4.0}.items() <= {question["name"]: question["cost"] for question in facts["questions"]}.items()
    assert [free["name"] for free in facts["free"]] == ["age"]
    assert facts["frontier"][0]["mean_cost"] == 0
    assert {record["rule"] for record in facts["curve"]} == {"budget", "confidence", "penalty", "average-cost"}
