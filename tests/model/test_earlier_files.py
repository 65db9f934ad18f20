"""Model files written by earlier versions load, and give the answers they gave then."""

import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from askwise import Penalty, load
from askwise.core.stopping import parse_rule

FILES = Path(__file__).parent / "files"


def answers_of(name):
    return json.loads((FILES / f"{name}.json").read_text(encoding="utf-8"))


def assert_same_acquisitions(model, inputs, expected):
    for rule, facts in expected.items():
        found = model.acquire(inputs, stop=parse_rule(rule))
        assert found.order == facts["order"], rule
        assert found.reason.tolist() == facts["reason"], rule
        assert found.spent == pytest.approx(np.array(facts["spent"])), rule
        assert found.proba == pytest.approx(np.array(facts["proba"]), abs=1e-5), rule


@pytest.fixture(scope="module")
def table():
    return load(FILES / "table.askwise"), answers_of("table")


def rows_of(answers):
    return pd.read_json(io.StringIO(json.dumps(answers["rows"])), orient="split")


def test_a_table_is_asked_the_same(table):
    model, answers = table
    assert float(model.model_.policy.temperature) == pytest.approx(answers["temperature"])
    assert_same_acquisitions(model, rows_of(answers), answers["acquired"])


def test_a_session_asks_the_same_with_the_same_values(table):
    model, answers = table
    for told in answers["sessions"]:
        session = model.session(stop=Penalty(0.02), known=told["case"]["known"])
        for step in told["steps"]:
            question = session.ask()
            assert question.name == step["question"]
            assert question.value == pytest.approx(step["value"], rel=1e-6)
            ranking = [list(candidate) for candidate in session.ranking]
            assert [r[0] for r in ranking] == [r[0] for r in step["ranking"]]
            assert [r[1] for r in ranking] == pytest.approx([r[1] for r in step["ranking"]], rel=1e-6)
            assert session.entropy == pytest.approx(step["entropy"], rel=1e-6)
            value = told["case"]["values"][question.name]
            session.decline(question.name) if value is None else session.tell(question.name, value)
        assert session.reason == told["reason"]
        assert session.spent == pytest.approx(told["spent"])
        assert session.prediction.proba == pytest.approx(told["final"], abs=1e-9)


def test_information_and_frontier_are_the_same(table):
    model, answers = table
    frame = rows_of(answers).assign(a=np.nan, b=np.nan)
    expected = np.array(answers["information"], dtype=float)
    assert model.information(frame).to_numpy() == pytest.approx(expected, rel=1e-6, nan_ok=True)
    for name, values in answers["frontier"].items():
        assert model.frontier_.iloc[::20][name].to_numpy() == pytest.approx(np.array(values), nan_ok=True)


def test_a_file_saved_again_keeps_the_scale_of_its_scores(table, tmp_path):
    model, answers = table
    model.save(tmp_path / "again.askwise")
    again = load(tmp_path / "again.askwise")
    assert again.model_.policy.tempered_scores
    assert_same_acquisitions(again, rows_of(answers), answers["acquired"])


def test_it_tells_of_no_gaps(table):
    model, _ = table
    assert model.model_.gaps == ()
    assert model.gaps_.empty


def test_images_are_asked_the_same():
    answers = answers_of("images")
    model = load(FILES / "images.askwise", device="cpu")
    images = np.array(answers["images"], dtype=np.uint8)[..., None]
    assert_same_acquisitions(model, images, answers["acquired"])
