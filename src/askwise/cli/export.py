"""`askwise export`: a model as one ONNX file, for programs without torch and askwise."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from askwise.cli import show
from askwise.cli.common import check_folder_can_be_written, command
from askwise.cli.options import ModelFile, PrintOptions, output_option
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
    *,
    output: Annotated[Path | None, output_option("The ONNX file; by default the model's name + .onnx.")] = None,
    printing: PrintOptions,
) -> None:
    """Write a model as one ONNX graph.

    It runs wherever onnxruntime does, without askwise: from what is known, the prediction and the value per cost of
    every question. Its metadata tell how to encode a row of a table, or the pixels of an image. Needs: pip install
    'askwise[onnx]'.
    """
    with command(printing) as out:
        path = output or Path(f"{model.stem}.onnx")
        _check_path(path, model)
        with busy(out, f"Writing {path.name}"):
            from askwise.methods.loading import load

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
        out.print(f"{path}: {questions}, {size / 1024:,.0f} KiB, the same as torch on states drawn at random")
        out.result(
            {"model": str(model), "onnx": str(path), "bytes": size, "inputs": inputs, "questions": list(space.names)}
        )


def _check_path(path: Path, model: Path) -> None:
    if path.exists() and model.exists() and path.samefile(model):
        raise AskwiseError(f"{path} is the model itself; give another file with -o")
    if path.is_dir():
        raise AskwiseError(f"{path} is a folder; give a file to write, such as {path / 'model.onnx'}")
    check_folder_can_be_written(path.parent)
