"""`askwise export`: a model as one ONNX file."""

from __future__ import annotations

import json

import onnxruntime


def test_export_writes_a_file_that_onnxruntime_opens(run, folder):
    said = run("export", "heart.askwise")
    assert said.exit_code == 0, said.output
    assert "heart.onnx: 5 questions" in said.stdout
    session = onnxruntime.InferenceSession(folder / "heart.onnx")
    assert [i.name for i in session.get_inputs()] == ["x", "mask", "costs"]


def test_export_as_json_tells_the_shapes_and_quiet_prints_nothing_else(run, folder):
    said = run("export", "heart.askwise", "-o", "web/model.onnx", "--json", "--quiet")
    assert said.stderr == ""
    facts = json.loads(said.stdout)
    session = onnxruntime.InferenceSession(folder / "web" / "model.onnx")
    assert facts["inputs"] == {i.name: i.shape for i in session.get_inputs()}
    assert facts["bytes"] == (folder / "web" / "model.onnx").stat().st_size
    assert "exercise test" in facts["questions"]


def test_export_refuses_to_write_over_the_model_or_a_folder(run, folder):
    before = (folder / "heart.askwise").read_bytes()
    for place, words in (("heart.askwise", "is the model itself"), (".", "is a folder")):
        said = run("export", "heart.askwise", "-o", place)
        assert said.exit_code == 2
        assert words in said.stderr
    assert (folder / "heart.askwise").read_bytes() == before
