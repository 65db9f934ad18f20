"""Terminal, service and library ask the same questions for the same answers."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from askwise import Session
from askwise.cli import app
from askwise.core.stopping import parse_rule
from askwise.data.tables.column import is_missing

STOP = "penalty=0.003|budget=60"
N_ROWS = 10


def values_of(schema, name, row):
    """What a row answers to a question, by column; None where it has nothing."""
    return {c.name: None if is_missing(row[c.name]) else plain(row[c.name]) for c in schema.columns_of(name)}


def plain(value):
    return value.item() if hasattr(value, "item") else value


@pytest.fixture(scope="module")
def rows(new_cases):
    return [row for _, row in new_cases[0].head(N_ROWS).iterrows()]


def held(heart, row):
    """A conversation in Python about one row: (question, its values) in order, and the session at its end."""
    known = {} if is_missing(row["age"]) else {"age": plain(row["age"])}
    session, said = Session(heart, parse_rule(STOP), known=known), []
    while (question := session.ask()) is not None:
        values = values_of(heart.schema, question.name, row)
        said.append((question.name, values))
        if all(value is None for value in values.values()):
            session.decline(question.name)
        else:
            session.tell(question.name, values)
    return known, said, session


def ending(facts):
    return {name: facts[name] for name in ("answers", "declined", "spent", "reason", "ranking", "prediction")}


def expected(session):
    value, proba = session.prediction
    return {
        "answers": session.answers, "declined": session.declined, "spent": session.spent, "reason": session.reason,
        "ranking": [c._asdict() for c in session.ranking], "prediction": {"value": value, "proba": proba},
    }  # fmt: skip


def test_the_rows_differ_in_what_is_asked(heart, rows):
    """Else the tests below would show little."""
    orders = {tuple(name for name, _ in held(heart, row)[1]) for row in rows}
    assert len(orders) >= 3
    assert any(held(heart, row)[2].declined for row in rows)


@pytest.mark.parametrize("i", range(N_ROWS))
def test_next_asks_what_a_session_asks(client, heart, rows, i):
    known, said, session = held(heart, rows[i])
    answers, declined = dict(known), []
    for name, values in said:
        state = client.post("/v1/models/heart/next", {"answers": answers, "declined": declined, "stop": STOP}).facts
        assert state["question"]["name"] == name
        if all(value is None for value in values.values()):
            declined.append(name)
        else:
            answers |= values
    state = client.post("/v1/models/heart/next", {"answers": answers, "declined": declined, "stop": STOP}).facts
    assert state["question"] is None
    assert ending(state) == expected(session)


@pytest.mark.parametrize("i", range(N_ROWS))
def test_a_kept_session_asks_what_a_session_asks(client, heart, rows, i):
    known, said, session = held(heart, rows[i])
    state = client.post("/v1/models/heart/sessions", {"answers": known, "stop": STOP}).facts
    path = f"/v1/sessions/{state['id']}"
    for name, values in said:
        assert state["question"]["name"] == name
        if all(value is None for value in values.values()):
            state = client.post(f"{path}/decline", {"name": name}).facts
        else:
            state = client.post(f"{path}/tell", {"name": name, "value": values}).facts
    assert state["question"] is None
    assert state["asked"] == session.asked
    assert ending(state) == expected(session)


def typed(heart, row):
    """What a person types about a row, a line a value, in the order of the session's questions."""
    known, said, session = held(heart, row)
    lines = [str(known.get("age", ""))]
    lines += [show(value) for _, values in said for value in values.values()]
    return "".join(f"{line}\n" for line in lines), session


def show(value):
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "skip" if value is None else str(value)


@pytest.mark.parametrize("i", range(N_ROWS))
def test_the_terminal_asks_what_a_session_asks(model_file, heart, rows, i):
    """Were another question asked, its answer would be impossible or land in another column."""
    text, session = typed(heart, rows[i])
    told = CliRunner().invoke(app, ["ask", str(model_file), "--stop", STOP, "--json"], input=text)
    assert told.exit_code == 0
    facts = json.loads(told.stdout)
    assert facts["asked"] == session.asked
    assert ending(facts) == expected(session)


def test_a_pipe_to_a_process_asks_what_a_session_asks(model_file, heart, rows):
    text, session = typed(heart, rows[0])
    command = [sys.executable, "-m", "askwise", "ask", str(model_file), "--stop", STOP, "--json"]
    told = subprocess.run(command, input=text, capture_output=True, text=True, timeout=60, check=True)
    assert ending(json.loads(told.stdout)) == expected(session)
