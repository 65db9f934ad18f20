"""`askwise ask`: the conversation, as typed or from a pipe."""

from __future__ import annotations

import json
import re

import pytest

from askwise import Budget, Session, load
from askwise.cli import show
from askwise.core.ranking import RANKED_BY
from askwise.core.stopping import parse_rule

pytestmark = pytest.mark.usefixtures("folder")

EVERYTHING = {
    "pressure": ["140"],
    "exercise test": ["130", "often"],
    "smoker": ["yes"],
    "scan": ["2.5"],
    "site": ["7"],
}


def talk(run, *lines, args=()):
    """The facts that --json prints after these lines were typed; what was shown is on standard error."""
    said = run("ask", "heart.askwise", "--json", *args, typed="".join(f"{line}\n" for line in lines))
    assert said.exit_code == 0, said.stderr
    return json.loads(said.stdout), said.stderr


def first_question():
    return Session(load("heart.askwise")).ask().name


def test_the_terminal_asks_what_the_session_asks(run):
    session = Session(load("heart.askwise"), known={"age": 60, "sex": "male"})
    lines = ["60", "male"]
    while (question := session.ask()) is not None:
        typed = EVERYTHING[question.name]
        session.tell(question.name, {c.name: v for c, v in zip(question.columns, typed, strict=True)})
        lines += typed
    facts, _ = talk(run, *lines)
    assert facts["asked"] == session.asked
    assert facts["answers"] == session.answers
    assert facts["spent"] == session.spent == 59.5
    assert facts["reason"] == "nothing-left"
    assert facts["prediction"] == {"value": session.prediction.value, "proba": session.prediction.proba}


def test_json_has_exactly_the_promised_facts(run):
    facts, _ = talk(run)
    promised = (
        "question ranking ranked_by prediction entropy spent stopped reason why rule expected_cost answers declined "
        "remarks asked"
    )
    assert list(facts) == promised.split()
    assert list(facts["ranking"][0]) == ["name", "value", "cost", "value_per_cost", "lookahead_per_cost", "own_cost"]


def test_the_rule_of_training_stops_where_none_is_given_and_is_named(run):
    load("heart.askwise").set_params(stop=Budget(1)).save("short.askwise")
    assert "short.askwise, stopping at budget=1" in run("ask", "short.askwise", typed="").stdout
    assert "short.askwise, stopping at budget=9" in run("ask", "short.askwise", "--stop", "budget=9", typed="").stdout
    assert "heart.askwise, until nothing is left" in run("ask", "heart.askwise", typed="").stdout


def test_the_end_of_the_input_ends_politely_with_the_state_so_far(run):
    said = run("ask", "heart.askwise", typed="60\n")
    assert said.exit_code == 0
    assert "the answers ended here" in said.stdout
    assert "0 questions answered, spent 0" in said.stdout


def test_enter_leaves_a_free_column_unknown(run):
    assert talk(run, "", "male")[0]["answers"] == {"sex": "male"}


def test_why_a_question_is_asked_is_shown_as_bars(run):
    said = run("ask", "heart.askwise", "--stop", "penalty=0.0001", typed="\n\nstop\n")
    assert "information per price" in said.stdout
    assert f"▶ {first_question()}" in said.stdout
    assert "┃ a question below 0.0001 is not worth its cost" in said.stdout
    assert "you stopped" in said.stdout


@pytest.mark.parametrize(
    ("rule", "reason", "words"),
    [
        ("budget=0.5", "budget", "no open question fits into the budget"),
        ("confidence=5", "confidence", "sure enough"),
        ("penalty=100", "penalty", "no open question is worth its cost"),
    ],
)
def test_the_rule_that_stops_is_named(run, rule, reason, words):
    facts, shown = talk(run, "", "", args=["--stop", rule])
    assert facts["reason"] == reason
    assert words in shown


def test_average_cost_stops_where_the_rule_does_that_it_stands_for(run):
    model = load("heart.askwise").model_
    rule = model.rule(parse_rule("average-cost=20"), model.schema.space.costs)
    facts, shown = talk(run, "", "", args=["--stop", "average-cost=20"])
    other = talk(run, "", "", args=["--stop", rule])[0]
    assert {"reason", "why", "expected_cost"} >= {name for name in facts if facts[name] != other[name]}
    assert facts["rule"] == str(rule)
    assert facts["expected_cost"] == rule.expected._asdict()
    assert f"stopping at average-cost=20 (cases are expected to cost {rule.expected} on average)" in shown


def test_skip_declines_and_costs_nothing(run):
    facts, shown = talk(run, "", "", *["skip all"] * 5)
    assert sorted(facts["declined"]) == sorted(EVERYTHING)
    assert (facts["spent"], facts["asked"], facts["reason"]) == (0, [], "nothing-left")
    assert "can't be had" in shown


def test_part_of_a_panel_can_be_skipped(run):
    facts, _ = talk(run, "", "", "other", "exercise test", "skip", "often")
    assert facts["answers"] == {"pain": "often"}
    assert facts["spent"] == 15


def test_another_question_is_chosen_by_name_or_number(run):
    by_name, _ = talk(run, "", "", "other", "scan", "2")
    ranking = [c.name for c in Session(load("heart.askwise")).ranking]
    by_number, _ = talk(run, "", "", "other", ranking.index("scan") + 1, "2")
    assert by_name["asked"] == by_number["asked"] == ["scan"]


def test_a_wrong_name_for_another_question_gets_the_nearest(run):
    _, shown = talk(run, "", "", "other", "scam")
    assert "did you mean 'scan'?" in shown


def test_impossible_values_are_explained_and_asked_again(run):
    facts, shown = talk(run, "old", "60", "", "other", "smoker", "perhaps", "yes")
    assert "'age' takes a number, was given 'old'" in shown
    assert "'smoker' takes yes or no, was given 'perhaps'" in shown
    assert facts["answers"] == {"age": 60, "smoker": True}


def test_a_value_outside_the_training_range_is_taken_with_a_remark(run):
    facts, shown = talk(run, "400", "")
    assert facts["answers"] == {"age": 400}
    assert "outside what was seen in training" in shown


def test_undo_takes_answers_back_down_to_the_free_columns(run):
    facts, shown = talk(run, "60", "male", "other", "scan", "2", "undo", "undo", "female", "undo", "undo", "undo")
    assert shown.count("taken back") == 4
    assert facts["answers"] == {}
    assert "nothing to undo" in shown


def test_what_was_said_of_a_panel_before_the_end_counts(run):
    facts, _ = talk(run, "", "", "other", "exercise test", "130")
    assert (facts["answers"], facts["spent"]) == ({"rate": 130}, 15)


def test_undo_inside_a_panel_goes_one_value_back(run):
    facts, _ = talk(run, "", "", "other", "exercise test", "120", "undo", "130", "often")
    assert facts["answers"] == {"rate": 130, "pain": "often"}


@pytest.mark.parametrize("word", ["", "?", "help"])
def test_help_is_shown_on_a_question(run, word):
    assert "take the last answer back" in talk(run, "", "", word)[1]


@pytest.mark.parametrize("word", ["stop", "quit", "/stop"])
def test_the_person_can_stop(run, word):
    assert talk(run, "", "", word)[0]["reason"] == "stopped-by-user"


def test_a_choice_named_like_a_command_is_an_answer(run, folder, fast):
    (folder / "t.csv").write_text("job,y\n" + "other,a\nnone,b\n" * 30)
    assert run("train", "t.csv", "--target", "y", *fast).exit_code == 0
    said = run("ask", "t.askwise", "--json", typed="other\n")
    assert json.loads(said.stdout)["answers"] == {"job": "other"}
    said = run("ask", "t.askwise", "--json", typed="/other\n\nskip\n")
    assert json.loads(said.stdout)["declined"] == ["job"]


def test_known_answers_are_where_it_starts(run, folder):
    known = {"age": 60, "exercise test": {"rate": 130, "pain": None}, "scan": None}
    (folder / "known.json").write_text(json.dumps(known))
    facts, _ = talk(run, args=["--answers", "known.json"])
    assert facts["answers"] == {"age": 60, "rate": 130}
    assert (facts["asked"], facts["declined"], facts["spent"]) == (["exercise test"], ["scan"], 15)


def test_what_json_printed_takes_the_conversation_up_again(run, folder):
    facts, _ = talk(run, "60", "", "other", "scan", "2", "skip all")
    (folder / "before.json").write_text(json.dumps(facts))
    again, _ = talk(run, args=["--answers", "before.json"])
    assert again["answers"] == facts["answers"]
    assert again["declined"] == facts["declined"]


def test_other_costs_count(run, folder):
    (folder / "cheap.json").write_text('{"scan": 0.25}')
    facts, _ = talk(run, "", "", "other", "scan", "2", args=["--costs", "cheap.json"])
    assert facts["spent"] == 0.25


def test_quiet_prints_the_prediction_alone_from_a_pipe(run):
    said = run("ask", "heart.askwise", "--quiet", typed="60\nmale\nstop\n")
    assert (said.exit_code, said.stderr) == (0, "")
    assert re.fullmatch(r"diagnosis: (well|sick) \([0-9.]+%\)\n", said.stdout)
    said = run("ask", "heart.askwise", "--quiet", "--json", typed="60\nmale\n")
    assert (json.loads(said.stdout)["answers"], said.stderr) == ({"age": 60, "sex": "male"}, "")


def test_a_number_is_predicted_on_a_scale(run, folder, fast):
    (folder / "t.csv").write_text("a,y\n" + "".join(f"{i},{i * 1.5}\n" for i in range(60)))
    assert run("train", "t.csv", "--target", "y", *fast).exit_code == 0
    said = run("ask", "t.askwise", typed="30\n")
    assert "●" in said.stdout
    assert "nothing is left to ask" in said.stdout
    assert json.loads(run("ask", "t.askwise", "--json", typed="30\n").stdout)["prediction"]["proba"] is None


def test_a_question_is_shown_in_its_words_with_its_unit_and_its_name(run, worded):
    said = run("ask", worded, typed="60\nmale\nother\nscan\n2\nstop\n").stdout
    assert "How old?\nage (free; Enter if not known) [a number (years), " in said
    assert "\nsex (free; Enter if not known) [one of 'female', 'male']: " in said
    assert "scan: What does the scan show?  (cost 1)" in said
    assert "What does the scan show?\nscan [a number (mm), " in said


def test_a_panel_is_shown_in_its_words_and_so_are_its_columns(run, worded):
    said = run("ask", worded, typed="\n\nother\nexercise test\n130\noften\nstop\n").stdout
    assert "How did it go? (exercise test: 2 values)\nTen minutes, on a bicycle\nAt its highest\nrate [" in said
    assert "How often does it hurt?\npain [one of 'none', 'seldom', 'often']: " in said


def test_help_on_a_question_begins_with_its_own(run, worded):
    said = run("ask", worded, typed="\n\nother\nexercise test\n?\nstop\n").stdout
    assert "At its highest\nTen minutes, on a bicycle\n  a value    answers the question" in said


def test_what_has_no_words_looks_as_it_did(run):
    said = run("ask", "heart.askwise", typed="60\nmale\nother\nexercise test\n130\nskip\nstop\n").stdout
    assert "\nexercise test: 2 values\nrate [a number, " in said
    assert "to end\nage (free; " in said


def test_the_terminal_says_which_of_two_scores_the_ranking_shows(run, far_sighted):
    far_sighted.save("far.askwise")
    said = run("ask", "far.askwise", "--stop", "penalty=0.0001", typed="60\nother\n\nstop\n")
    assert said.exit_code == 0, said.stderr
    assert "it and what follows, per price" in said.stdout
    assert "information per price" in said.stdout
    assert "┃ a question with both numbers below 0.0001 is not worth its cost" in said.stdout
    assert "best first by what this and the questions after it bring, per price" in said.stdout
    first = far_sighted.session(known={"age": 60}).ranking[0]
    line = next(line for line in said.stdout.splitlines() if line.startswith(f"▶ {first.name}"))
    for number in (first.lookahead_per_cost, first.value_per_cost, first.cost):
        assert show.format_number(number) in line.split()


def test_a_ranking_by_information_is_called_that(run):
    said = run("ask", "heart.askwise", typed="60\n\nother\n\nstop\n")
    assert "best first by information per price" in said.stdout
    assert "what follows" not in said.stdout


def test_every_kind_of_ranking_has_headings():
    assert set(show.RANK_HEADINGS) == set(RANKED_BY)
