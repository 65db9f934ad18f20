"""The programs in docs/service.md run as they stand."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from askwise import Budget
from askwise.session.session import Session

PAGE = (Path(__file__).parents[2] / "docs" / "service.md").read_text(encoding="utf-8")
README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
CLIENT, LOOP = re.findall(r"<!-- run -->\n```python\n(.*?)```", PAGE, flags=re.DOTALL)


@pytest.fixture
def program(client):
    names = {"url": f"http://127.0.0.1:{client.port}"}
    exec(CLIENT, names)
    return names


def test_the_client_asks_what_a_session_asks(program, heart, new_cases, capsys):
    case = json.loads(new_cases[0].dropna().iloc[0].to_json())
    program["case"] = case
    exec(LOOP, program)
    session = Session(heart, Budget(100))
    session.tell("age", 63)
    while (question := session.ask()) is not None:
        session.tell(question.name, {column.name: case[column.name] for column in question.columns})
    expected = f"{session.prediction.value} for {session.spent} because {program['reply']['why']}\n"
    assert capsys.readouterr().out == expected


def test_the_client_is_told_what_is_wrong(program):
    with pytest.raises(ValueError, match="there is no model 'hart'"):
        program["Askwise"](program["url"]).next("hart", {})
    assert len(CLIENT.strip().splitlines()) <= 22


def test_the_request_of_the_readme_gets_the_reply_of_the_readme(client):
    path, body, shown = re.search(r"curl http://[^/]+(\S+) .* -d '(.*)'\n(\{.*\})\n", README).groups()
    reply = client.post(path, json.loads(body)).facts
    assert set(re.findall(r'"(\w+)": \{', shown)) == {"question", "prediction"}
    parts = (reply, reply["question"], reply["prediction"])
    facts = dict(re.findall(r'"(\w+)": ([^{},]+)', shown))
    assert {name: json.loads(value) for name, value in facts.items()} == {
        name: part[name] for name in facts for part in parts if name in part
    }
