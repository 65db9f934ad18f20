"""The examples of docs/guide.md that are marked run as they stand."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import onnxruntime
import pytest

import askwise
from askwise import Session

GUIDE = (Path(__file__).parents[2] / "docs" / "guide.md").read_text(encoding="utf-8")


def test_an_onnx_graph_values_questions_by_the_shared_prices_of_the_moment(blood, tmp_path):
    names = {"np": np}
    (code,) = re.findall(r"<!-- run -->\n```python\n(.*?)```", GUIDE, flags=re.DOTALL)
    exec(code, names)
    blood.export_onnx(tmp_path / "blood.onnx")
    graph = onnxruntime.InferenceSession(tmp_path / "blood.onnx", providers=["CPUExecutionProvider"])
    space = json.loads(graph.get_modelmeta().custom_metadata_map["schema"])["space"]
    session, asked = Session(blood), np.zeros(len(space["names"]), bool)
    for answers in ({}, {"pressure": 130.0}):
        for name, value in answers.items():
            session.tell(name, value)
            asked[space["names"].index(name)] = True
        row = {"x": session._row.x, "mask": session._row.present, "costs": names["costs_now"](space, asked)}
        values = dict(zip(space["names"], graph.run(["values"], row)[0][0].tolist(), strict=True))
        for candidate in session.ranking:
            assert names["costs_now"](space, asked)[space["names"].index(candidate.name)] == candidate.cost
            assert values[candidate.name] == pytest.approx(candidate.value_per_cost, abs=1e-5)


def test_the_example_of_weights_and_another_prevalence_runs(cases):
    X, y = cases
    weights = np.linspace(1, 2, len(y))
    small = partial(askwise.DimeClassifier, hidden=8, epochs=1, random_state=0)
    library = SimpleNamespace(DimeClassifier=small, Confidence=askwise.Confidence)
    given = {"X": X, "y": y, "w": weights, "X_test": X[:50], "y_test": y[:50], "w_test": weights[:50]}
    names = given | {"askwise": library}
    (code,) = re.findall(r"<!-- run weights -->\n```python\n(.*?)```", GUIDE, flags=re.DOTALL)
    exec(code, names)
    assert names["session"].prediction.proba["sick"] == pytest.approx(0.02, abs=1e-3)
