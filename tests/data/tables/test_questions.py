"""Texts, units and help of questions, and the order of their choices."""

import re

import numpy as np
import pandas as pd
import pytest

from askwise import AskwiseError, AskwiseWarning, DimeClassifier, load
from askwise.data.tables.questions import Wording
from askwise.data.tables.schema import Schema

TABLE = pd.DataFrame(
    {
        "age": [30.0, 40, 50, 60],
        "pain": ["often", "none", "seldom", "none"],
        "smoker": [True, False, True, False],
        "dose": pd.Categorical([2, 1, 3, 2]),
    }
)
PANEL = {"visit": ["age", "pain"]}


def schema(questions, **how):
    return Schema.of(TABLE, questions=questions, **how)


def test_a_question_is_a_text_or_a_mapping_of_its_parts():
    words = schema({"age": {"text": "How old?", "unit": "years", "help": "Today"}, "smoker": "Do you smoke?"})
    assert words.wording_of("age") == Wording("How old?", "years", "Today")
    assert words.wording_of("smoker") == Wording("Do you smoke?")
    assert words.wording_of("pain") == Wording()


def test_what_is_empty_is_not_given():
    assert schema({"age": "", "pain": {"text": " ", "unit": None, "choices": []}}).wording == {}


def test_a_text_is_one_line_and_help_keeps_its_own():
    words = schema({"age": {"text": " How\n old? ", "help": " First.\nThen. "}}).wording_of("age")
    assert words == Wording("How old?", "", "First.\nThen.")


def test_a_panel_and_its_columns_have_words_of_their_own():
    words = schema({"visit": "At the visit", "age": {"text": "How old?", "unit": "years"}}, groups=PANEL)
    assert words.question_wording("visit") == Wording("At the visit")
    assert words.wording_of("age") == Wording("How old?", "years")


def test_a_group_of_one_column_is_put_as_its_column_is_unless_it_has_words_itself():
    groups = {"years": ["age"]}
    words = {"age": {"text": "How old?", "unit": "years", "help": "Today"}}
    assert schema(words, groups=groups).question_wording("years") == Wording("How old?", "years", "Today")
    named = schema({**words, "years": "Your age?"}, groups=groups)
    assert named.question_wording("years") == Wording("Your age?", "years", "Today")


def test_a_column_may_be_named_by_its_position():
    assert schema({0: "How old?"}).wording_of("age") == Wording("How old?")


@pytest.mark.parametrize(
    ("questions", "message"),
    [
        ({"agee": "How old?"}, "unknown column or group in questions: 'agee'; did you mean 'age'?"),
        ({0: "How old?", "age": "How old?"}, "questions has 'age' twice"),
        ({"age": {"texts": "How old?"}}, "unknown key of question 'age': 'texts'; did you mean 'text'?"),
        ({"age": {"text": 5}}, "the text of question 'age' must be a text, was given 5"),
        ({"age": 5}, "question 'age' takes a text, or a mapping of text, unit, help, choices; was given 5"),
        (["age"], "questions takes a mapping of a column's or group's name"),
        ({"pain": {"choices": "none|often"}}, "the choices of question 'pain' must be a list"),
        (
            {"pain": {"choices": [["none"]]}},
            "a choice of question 'pain' must be a text or a number, was given [",
        ),
        ({"pain": {"choices": ["none", " none"]}}, "the choices of question 'pain' name 'none' twice"),
        ({"dose": {"choices": [2, 2.0]}}, "the choices of question 'dose' name '2' twice"),
        ({"age": {"choices": [30, 40]}}, "'age' takes a number, so it has no choices"),
        ({"smoker": {"choices": ["yes", "no"]}}, "'smoker' takes yes or no, so it has no choices"),
        ({"visit": {"unit": "years"}}, "questions gives the group 'visit' a unit; only a column has that: give it to"),
        ({"visit": {"choices": ["a"]}}, "questions gives the group 'visit' choices"),
    ],
)
def test_words_that_can_not_be_are_an_error(questions, message):
    with pytest.raises(AskwiseError, match=re.escape(message)):
        schema(questions, groups=PANEL)


def test_choices_come_in_the_order_given_and_rows_are_encoded_by_it():
    words = schema({"pain": {"choices": ["none", "seldom", "often"]}, "dose": {"choices": (3.0, 2, "1")}})
    assert words.column("pain").categories == ("none", "seldom", "often")
    assert words.column("dose").categories == ("3", "2", "1")
    assert words.encode(TABLE).x[:, 1:4].tolist() == [[0, 0, 1], [1, 0, 0], [0, 1, 0], [1, 0, 0]]


def test_choices_that_are_not_named_come_last_with_a_warning():
    with pytest.warns(AskwiseWarning, match="'pain' that questions does not name come last: 'none', 'often'"):
        assert schema({"pain": {"choices": ["seldom"]}}).column("pain").categories == ("seldom", "none", "often")


def test_choices_never_seen_are_left_out_with_a_warning():
    with pytest.warns(AskwiseWarning, match="'pain' never seen in training are left out: 'always'; seen: 'none'"):
        words = schema({"pain": {"choices": ["always", "often", "seldom", "none"]}})
    assert words.column("pain").categories == ("often", "seldom", "none")


def test_a_schema_with_words_survives_a_dict_and_one_without_has_no_trace_of_them():
    words = schema({"age": {"text": "How old?", "unit": "years"}})
    assert Schema.from_dict(words.to_dict()) == words
    assert "wording" not in schema(None).to_dict()


# In an estimator


QUESTIONS = {
    "age": {"text": "How old are you?", "unit": "years"},
    "pain": {"choices": np.array(["seldom", "none", "often"])},
    "smoker": "Do you smoke?",
}


def test_words_are_saved_with_the_model(cases, fast, tmp_path):
    model = DimeClassifier(questions=QUESTIONS, **fast).fit(*cases)
    model.save(tmp_path / "m.askwise")
    again = load(tmp_path / "m.askwise")
    assert again.model_.schema == model.model_.schema
    assert again.model_.schema.wording_of("age") == Wording("How old are you?", "years")
    assert again.questions == {**QUESTIONS, "pain": {"choices": ["seldom", "none", "often"]}}
    refitted = DimeClassifier(**again.get_params()).fit(*cases)
    assert np.array_equal(refitted.predict_proba(cases[0]), model.predict_proba(cases[0]))


def test_words_change_nothing_that_is_learnt(cases, fast):
    texts = {"age": {"text": "How old are you?", "unit": "years"}, "smoker": "Do you smoke?"}
    plain, worded = (DimeClassifier(questions=q, **fast).fit(*cases) for q in (None, texts))
    assert np.array_equal(plain.predict_proba(cases[0]), worded.predict_proba(cases[0]))


def test_other_words_take_a_broken_run_up_again_and_other_choices_begin_anew(cases, fast, tmp_path):
    def epochs_left(questions):
        seen = []

        def break_off(progress):
            seen.append((progress.stage, progress.epoch))
            if progress.stage == "joint":
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            DimeClassifier(questions=questions, checkpoint_dir=tmp_path, **fast).fit(*cases, progress=break_off)
        return len(seen)

    whole = epochs_left(None)
    assert epochs_left({"age": {"text": "How old are you?", "unit": "years"}}) < whole
    assert epochs_left({"pain": {"choices": ["seldom", "often", "none"]}}) == whole
