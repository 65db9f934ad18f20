"""What can't be meant is refused by limits, or asked about again: in sessions, the terminal, the API and batches."""

from __future__ import annotations

import io
import json
import warnings

import numpy as np
import pandas as pd
import pytest
from serving import running
from typer.testing import CliRunner

from askwise import AskwiseError, DimeClassifier, NumpyModel, OutOfRangeWarning, Session
from askwise.cli import app
from askwise.model.table_predictions import predict_table
from askwise.service.app import create_app
from askwise.service.catalogue import Catalogue
from implausible_values import COLUMNS, DOUBTED, QUESTIONS, REFUSED, TAKES, VALUES, with_codes


class Typed(io.StringIO):
    """Lines that a person types at a terminal."""

    def isatty(self):
        return True


@pytest.fixture(scope="module")
def file(limited, tmp_path_factory):
    path = tmp_path_factory.mktemp("limited") / "limited.askwise"
    limited.save(path)
    return path


@pytest.fixture(scope="module")
def client(file):
    with running(create_app(Catalogue.read([file]))) as client:
        yield client


@pytest.fixture
def frame(new_cases):
    return with_codes(new_cases[0])


@pytest.fixture
def talk(file, monkeypatch, capsys):
    """What --json prints and what was shown, after these lines were typed or came from a pipe."""

    def call(*lines, stdin=Typed):
        monkeypatch.setattr("sys.stdin", stdin("".join(f"{line}\n" for line in lines)))
        app(["ask", str(file), "--json"], standalone_mode=False)
        shown = capsys.readouterr()
        return json.loads(shown.out), shown.err

    return call


def refusal(column, value):
    return f"'{column}' takes {TAKES[column]}, was given {value!r}"


def test_there_are_thirty_of_them(limited):
    schema = limited.model_.schema
    assert len(VALUES) == 30
    assert all(schema.column(column).is_outside(value) for column, value in DOUBTED)


# Session


@pytest.mark.parametrize("model", ["torch", "numpy"])
def test_a_session_refuses_what_limits_forbid_and_remarks_on_what_was_not_seen(limited, file, model):
    model = limited if model == "torch" else NumpyModel.load(file)
    for column, value in REFUSED:
        session = Session(model)
        with pytest.raises(AskwiseError) as error:
            session.tell(column, value)
        assert (str(error.value), error.value.about) == (refusal(column, value), column)
        assert session.answers == {}
    for column, value in DOUBTED:
        session = Session(model)
        session.tell(column, value)
        assert session.remarks[column].startswith(f"'{column}' is {value:.10g}, outside what was seen in training, ")
    with pytest.raises(AskwiseError, match="'age' takes a number from 0 to 120, was given 600"):
        Session(model, known={"age": 600})


def test_a_fetched_value_that_limits_forbid_is_not_available(limited):
    session = limited.session()
    session.run(lambda question: {"rate": 9000, "sex": 60}.get(question.name))
    assert session.failures == {column: refusal(column, value) for column, value in [("rate", 9000), ("sex", 60)]}


# Terminal


def test_the_terminal_refuses_what_limits_forbid_and_asks_again_about_what_was_not_seen(talk):
    of = {column: [value for name, value in VALUES if name == column] for column in COLUMNS}
    lines = [*of["age"], ""]
    for column in COLUMNS[1:]:
        given = [[value, "n"] if (column, value) in DOUBTED else [value] for value in of[column]]
        lines += ["other", column, *(line for one in given for line in one), "skip"]
    facts, shown = talk(*lines)
    assert (facts["answers"], sorted(facts["declined"])) == ({}, sorted({*COLUMNS[1:], *facts["declined"]}))
    for column, value in REFUSED:
        assert refusal(column, str(value)) in shown
    for _, value in DOUBTED:
        assert f"Did you mean {value:.10g}? Seen in training: " in shown


@pytest.mark.parametrize(
    ("lines", "answers"),
    [
        (["90", "y"], {"age": 90}),
        (["90", "YES"], {"age": 90}),
        (["90", "90.0"], {"age": 90}),
        (["90", "9", "9"], {"age": 9}),
        (["90", "50"], {"age": 50}),
        (["90", "n", "50"], {"age": 50}),
        (["90", "?", "90"], {"age": 90}),
        (["90", "600", "y", "50"], {"age": 50}),
        (["90", ""], {}),
        (["90", "stop"], {}),
    ],
)
def test_a_person_at_a_terminal_says_whether_it_is_meant(talk, lines, answers):
    assert talk(*lines)[0]["answers"] == answers


def test_a_pipe_is_not_asked_since_its_next_line_answers_the_next_question(file, talk):
    first = Session(NumpyModel.load(file)).ask().name
    facts, shown = talk("90", "skip", stdin=io.StringIO)
    assert (facts["answers"], facts["declined"]) == ({"age": 90}, [first])
    assert "90 is outside what was seen in training" in shown
    assert facts["remarks"]["age"].startswith("'age' is 90, outside")


def test_few_whole_numbers_and_words_are_offered_in_the_terminal(talk):
    facts, shown = talk("", "other", "sex", "Female", "other", "stage", "2")
    assert "sex [1 (female) or 2 (male)]: " in shown
    assert "stage [a number; 1, 2, 3 or 4 in training]: " in shown
    assert facts["answers"] == {"sex": 1, "stage": 2}


# API


def test_the_api_refuses_what_limits_forbid_and_remarks_on_what_was_not_seen(client):
    for column, value in REFUSED:
        reply = client.post("/v1/models/limited/next", {"answers": {column: value}})
        error = {"message": refusal(column, value), "where": column}
        assert (reply.status, reply.facts) == (422, {"error": error})
    for column, value in DOUBTED:
        reply = client.post("/v1/models/limited/next", {"answers": {column: value}})
        assert (reply.status, list(reply.facts["remarks"])) == (200, [column])
    rows = [{"answers": {"sex": 1}}, {"answers": {"sex": 60}}]
    reply = client.post("/v1/models/limited/batch", {"rows": rows})
    error = {"message": f"row 1: {refusal('sex', 60)}", "where": "rows.1"}
    assert (reply.status, reply.facts) == (422, {"error": error})


def test_the_api_tells_limits_and_what_is_offered(client):
    facts = client.get("/v1/models/limited").facts
    found = {one["name"]: one for question in facts["questions"] for one in question["inputs"]}
    assert (facts["free"][0]["min"], facts["free"][0]["max"]) == (0, 120)
    assert found["sex"]["offered"] == [{"value": 1, "text": "female"}, {"value": 2, "text": "male"}]
    assert [one["value"] for one in found["stage"]["offered"]] == [1, 2, 3, 4]
    others = {name: one["others"] for name, one in found.items() if name in ("sex", "stage", "smoker")}
    assert others == {"sex": False, "stage": True, "smoker": None}
    assert (found["pressure"]["offered"], found["pressure"]["min"], found["smoker"]["offered"]) == (None, None, None)


# Batches


def test_a_batch_refuses_what_limits_forbid_and_names_what_was_not_seen(limited, frame):
    for column, value in REFUSED:
        given = with_value(frame, column, value)
        row = f"1 value is not allowed: '{column}' takes {TAKES[column]}, and row 4 has {value:.10g}; correct them"
        with pytest.raises(AskwiseError) as error:
            limited.predict_proba(given)
        assert str(error.value).startswith(row)
    for column, value in DOUBTED:
        given = with_value(frame, column, value)
        seen = limited.model_.schema.column(column).seen
        with pytest.warns(OutOfRangeWarning) as caught:
            limited.acquire(given)
        assert f" 1 in '{column}' (seen {seen}; row 4 has {value:.10g})" in "".join(str(w.message) for w in caught)


def with_value(frame, column, value):
    """Six rows, one of which has this value."""
    given = frame.head(6).astype({column: float})
    given.loc[4, column] = value
    return given


@pytest.mark.parametrize("ask", [True, False])
def test_a_table_of_predictions_refuses_what_limits_forbid_and_remarks_on_the_others_as_a_session_does(
    limited, frame, ask
):
    model = limited.model_
    for column, value in REFUSED:
        given = with_value(frame, column, value)
        row = f"1 value is not allowed: '{column}' takes {TAKES[column]}, and row 4 has {value:.10g}; correct them"
        with pytest.raises(AskwiseError) as error:
            predict_table(model, given, ask=ask)
        assert str(error.value).startswith(row)
        table = predict_table(model, given, ask=ask, allow_implausible=True)
        said = f"'{column}' takes {TAKES[column]}, was given {value:.10g}, so it counts as not available"
        assert table["remarks"].tolist() == [said if row == 4 else pd.NA for row in range(6)]
        missing = predict_table(model, with_value(frame, column, np.nan), ask=ask)
        pd.testing.assert_frame_equal(table.drop(columns="remarks"), missing.drop(columns="remarks"))
    for column, value in DOUBTED:
        table = predict_table(model, with_value(frame, column, value), ask=ask)
        session = Session(limited)
        session.tell(column, value)
        assert session.remarks[column] in table["remarks"].loc[4].split("; ")


def test_every_batch_call_refuses_and_each_column_is_counted(limited, frame, new_cases):
    given = frame.astype({"age": float}).set_axis([f"p{i}" for i in range(len(frame))])
    given.loc[["p2", "p3", "p5", "p8"], "age"] = [600, -1, 121, 1000]
    given.loc["p9", "sex"] = 60
    words = (
        "5 values are not allowed: 'age' takes .*, and row 'p2' has 600, row 'p3' has -1, row 'p5' has 121 and 1 more"
    )
    calls = [limited.predict, limited.predict_proba, limited.acquire, limited.information, limited.encode]
    for call in calls:
        with pytest.raises(AskwiseError, match=f"{words}; 'sex' takes"):
            call(given)
    with pytest.raises(AskwiseError, match=words):
        limited.curve(given, new_cases[1])


def test_a_text_among_numbers_is_an_error_that_names_its_row(limited, frame):
    given = frame.head(6).astype({"pressure": object})
    given.loc[4, "pressure"] = "high"
    with pytest.raises(AskwiseError, match="row 4: 'pressure' takes a number, was given 'high'; correct it, or leave"):
        limited.predict(given)


def test_what_was_not_seen_is_one_warning_with_the_farthest_value(limited, frame):
    given = frame.head(6).assign(pressure=[120.0, 400, 120, 1200, 300, 120], site=[7, 7, 70, 7, 7, 7])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        limited.predict(given)
    (warning,) = [str(w.message) for w in caught if w.category is OutOfRangeWarning]
    assert warning.startswith("4 values are outside what was seen in training: 3 in 'pressure' (seen ")
    assert "row 3 has 1200)" in warning
    assert warning.endswith("1 in 'site' (seen 7 to 7; row 2 has 70)")


def test_rows_to_learn_from_that_limits_refuse_are_named(cases, fast):
    frame = with_codes(cases[0])
    frame.loc[[7, 9], "age"] = [600, -3]
    with pytest.raises(
        AskwiseError, match=r"2 values are not allowed: 'age' .*, and row 7 has 600, row 9 has -3; correct"
    ):
        DimeClassifier(questions=QUESTIONS, **fast).fit(frame, cases[1])


@pytest.fixture
def table(frame, new_cases, tmp_path):
    frame.loc[4, "age"], frame.loc[5, "sex"] = 600, 60
    frame.assign(diagnosis=new_cases[1]).to_csv(tmp_path / "test.csv", index=False)
    return tmp_path / "test.csv"


def test_predict_refuses_a_table_or_counts_such_values_as_missing_and_names_them_once(file, table, tmp_path):
    command = ["predict", str(file), str(table), "-o", str(tmp_path / "out.csv"), "--json"]
    refused = CliRunner().invoke(app, command)
    assert (refused.exit_code, (tmp_path / "out.csv").exists()) == (2, False)
    assert "test.csv, where line 1 is the header: 2 values are not allowed: " in refused.stderr
    assert "'age' takes a number from 0 to 120, and line 6 has 600; " in refused.stderr
    assert "or count them as missing: --allow-implausible" in refused.stderr
    allowed = CliRunner().invoke(app, [*command, "--allow-implausible"])
    n_rows = len(pd.read_csv(table))
    counted = f"takes a number from 0 to 120, and is 600 in 1 of {n_rows} rows, so it counts as not available there"
    assert allowed.stderr.count(f"Warning: 'age' {counted}") == 1
    assert json.loads(allowed.stdout)["remarks"]["refused"] == {"age": 1, "sex": 1}
    found = pd.read_csv(tmp_path / "out.csv")
    assert "'age' takes a number from 0 to 120, was given 600, so it counts as not available" in found["remarks"][4]
    assert "sex" not in found["asked"][5].split("|")


def test_evaluate_refuses_a_table_or_counts_such_values_as_missing(file, table):
    command = ["evaluate", str(file), str(table), "--target", "diagnosis", "--bootstrap", "0", "--json"]
    refused = CliRunner().invoke(app, command)
    assert refused.exit_code == 2
    assert "test.csv, where line 1 is the header: 2 values are not allowed: " in refused.stderr
    assert "'age' takes a number from 0 to 120, and line 6 has 600; " in refused.stderr
    assert "or count them as missing: --allow-implausible" in refused.stderr
    allowed = CliRunner().invoke(app, [*command, "--allow-implausible"])
    assert "Counted as missing: " in allowed.stderr
    rows = pd.read_csv(table)
    rows.loc[4, "age"], rows.loc[5, "sex"] = np.nan, np.nan
    rows.to_csv(table, index=False)
    missing = CliRunner().invoke(app, command)
    assert json.loads(allowed.stdout)["curve"] == json.loads(missing.stdout)["curve"]
