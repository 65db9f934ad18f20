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
        ({"age": 5}, "question 'age' takes a text, or a mapping of text, unit, help, choices, min, max; was given 5"),
        (["age"], "questions takes a mapping of a column's or group's name"),
        ({"pain": {"choices": "none|often"}}, "the choices of question 'pain' must be a list"),
        (
            {"pain": {"choices": [["none"]]}},
            "a choice of question 'pain' must be a text or a number, was given [",
        ),
        ({"pain": {"choices": ["none", " none"]}}, "the choices of question 'pain' name 'none' twice"),
        ({"dose": {"choices": [2, 2.0]}}, "the choices of question 'dose' name '2' twice"),
        ({"age": {"choices": ["none"]}}, "'age' takes numbers, and its choice 'none' is none; write 0|1 or"),
        ({"age": {"choices": [1, 1.0]}}, "the choices of question 'age' name '1' twice"),
        ({"age": {"choices": {1: "young", 2: "Young"}}}, "the choices of question 'age' name 'young' twice"),
        ({"age": {"choices": [30], "max": 60}}, "question 'age' has choices, so nothing else is taken; leave min"),
        ({"age": {"min": "old"}}, "the min of question 'age' must be a number, was given 'old'"),
        ({"age": {"min": True}}, "the min of question 'age' must be a number, was given True"),
        ({"age": {"max": np.inf}}, "the max of question 'age' must be a number, was given inf"),
        ({"age": {"min": 9, "max": 1}}, "question 'age' has min 9 above max 1; exchange them"),
        ({"pain": {"min": 0}}, "'pain' takes one of 'none', 'often', 'seldom', so it has no min; leave it out"),
        ({"smoker": {"max": 1}}, "'smoker' takes yes or no, so it has no max"),
        ({"visit": {"max": 1}}, "questions gives the group 'visit' a max; only a column has that"),
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


def test_choices_may_have_words_which_a_person_may_answer_with():
    words = schema(
        {"dose": {"choices": {2: "middle", "1": "low", 3: ""}}, "age": {"choices": ["30=young", "40", "50", 60]}}
    )
    dose, age = words.column("dose"), words.column("age")
    assert dose.offered == (("2", "middle"), ("1", "low"), ("3", "3"))
    assert [dose.parse(answer) for answer in ("Low", 1, "3")] == ["1", "1", "3"]
    assert age.offered == ((30, "young"), (40, "40"), (50, "50"), (60, "60"))
    assert [age.parse(answer) for answer in ("young", 30, "40.0")] == [30, 30, 40]
    assert age.allowed == "30 (young), 40, 50 or 60"


def test_a_category_with_an_equals_sign_stays_whole():
    frame = pd.DataFrame({"bin": ["a=1", "b=2"]})
    assert Schema.of(frame, questions={"bin": {"choices": ["b=2", "a=1"]}}).column("bin").offered == (
        ("b=2", "b=2"),
        ("a=1", "a=1"),
    )


@pytest.mark.parametrize(
    ("values", "limits", "offered", "takes_others"),
    [
        ([0, 1], {}, [0, 1], False),
        ([0, 1], {"max": 9}, [0, 1], True),
        ([1, 4], {}, [1, 2, 3, 4], True),
        ([1, 4], {"min": 1, "max": 4}, [1, 2, 3, 4], False),
        ([1, 7], {}, [], True),
        ([7, 7], {}, [], True),
        ([0.5, 1.5], {}, [], True),
    ],
)
def test_few_whole_numbers_are_offered(values, limits, offered, takes_others):
    column = Schema.of(pd.DataFrame({"n": values}), questions={"n": limits}).column("n")
    assert ([value for value, _ in column.offered], column.takes_others) == (offered, takes_others)


def test_limits_survive_a_dict_and_a_column_without_any_has_no_trace_of_them():
    words = schema({"age": {"min": 0, "max": "120"}, "dose": {"choices": {1: "low", 2: "middle", 3: "high"}}})
    assert Schema.from_dict(words.to_dict()) == words
    age, _, _, dose = words.to_dict()["columns"]
    assert (age["limits"], dose["limits"]) == ({"minimum": 0, "maximum": 120}, {"words": ("low", "middle", "high")})
    assert all("limits" not in column for column in schema(None).to_dict()["columns"])


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
    assert epochs_left({"age": {"min": 0}}) < whole
    assert epochs_left({"pain": {"choices": ["seldom", "often", "none"]}}) == whole


def test_columns_of_codes_are_categories_and_stay_so_in_a_file(cases, fast, tmp_path):
    frame = cases[0].assign(ward=np.arange(len(cases[0])) % 12)
    questions = {"ward": {"choices": {10: "ten"}}}
    with pytest.warns(AskwiseWarning, match="come last"):
        model = DimeClassifier(categories=["ward"], questions=questions, **fast).fit(frame, cases[1])
    model.save(tmp_path / "m.askwise")
    again = load(tmp_path / "m.askwise")
    ward = again.model_.schema.column("ward")
    assert (again.categories, ward.kind) == (["ward"], "category")
    assert ward.categories == ("10", "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "11")
    assert [ward.parse(answer) for answer in ("Ten", 2.0, "3")] == ["10", "2", "3"]
    assert "categories" not in DimeClassifier().plain_settings()
