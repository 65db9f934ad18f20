"""`askwise export`: a model as one ONNX file, for programs without torch and askwise."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from askwise.cli import show
from askwise.cli.common import JsonFlag, ModelFile, QuietFlag, check_folder_can_be_written, command
from askwise.cli.progress import busy
from askwise.core.errors import AskwiseError

EXAMPLES = """\b
Examples:
  askwise export heart.askwise
  askwise export heart.askwise -o web/model.onnx
  askwise export heart.askwise --json | jq .inputs
"""


def export(
    model: ModelFile,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="The ONNX file; by default the model's name + .onnx."),
    ] = None,
    as_json: JsonFlag = False,
    quiet: QuietFlag = False,
) -> None:
    """Write a model as one ONNX graph.

    It runs wherever onnxruntime does, without askwise: from what is known, the prediction and the value per cost of
    every question. Its metadata tell how to encode a row of a table, or the pixels of an image. Needs: pip install
    'askwise[onnx]'.
    """
    with command(as_json, quiet) as out:
        path = output or Path(f"{model.stem}.onnx")
        if path.exists() and model.exists() and path.samefile(model):
            raise AskwiseError(f"{path} is the model itself; give another file with -o")
        if path.is_dir():
            raise AskwiseError(f"{path} is a folder; give a file to write, such as {path / 'model.onnx'}")
        check_folder_can_be_written(path.parent)
        with busy(out, f"Writing {path.name}"):
            from askwise.methods.registry import load

            estimator = load(model)
            estimator.export_onnx(path)
        space = estimator.model_.schema.space
        inputs = {
            "x": ["batch", space.n_entries],
            "mask": ["batch", space.n_columns],
            "costs": [space.n_groups],
        }
        size = path.stat().st_size
        questions = show.count(space.n_groups, "question")
        out.say(f"{path}: {questions}, {size / 1024:,.0f} KiB, the same as torch on states drawn at random")
        out.result(
            {"model": str(model), "onnx": str(path), "bytes": size, "inputs": inputs, "questions": list(space.names)}
        )
