"""The cases of `askwise evaluate`: rows of a table, or images, in the order and with the labels of a model."""

from __future__ import annotations

import shlex
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from askwise.cli import images as image_files
from askwise.cli import show, tables
from askwise.cli.common import Out
from askwise.cli.image_options import ImageSourceOptions
from askwise.cli.measure import LabelledCases
from askwise.cli.progress import busy
from askwise.core.errors import AskwiseError, listed

MODEL_TYPE = ".askwise"


def check_order(model: Path, cases: Path, command: str) -> None:
    """Raise an error if the table was given first and the model second."""
    from askwise.data.tables.files import TABLE_TYPES, table_type

    if table_type(model) in TABLE_TYPES and table_type(cases) == MODEL_TYPE:
        line = show.command_line("askwise", command, cases, model)
        raise AskwiseError(f"{model} is a table and {cases} a model; the model comes first: {line}")


@dataclass(frozen=True, eq=False)
class CaseReader:
    """Reads cases for one model. model, cases: the files, which errors name; target: the column, if it was given.

    allow_implausible: values that limits refuse count as missing. split_by: the column that says which rows belong
    together, such as those of one person. weights: the column that says how much rows count.
    """

    estimator: Any
    model: Path
    cases: Path
    target: str | None
    source: ImageSourceOptions
    allow_implausible: bool = False
    split_by: str | None = None
    weights: str | None = None

    @property
    def has_images(self) -> bool:
        """Whether the model is one of images."""
        return image_files.patch_layout(self.estimator) is not None

    def read(self, out: Out) -> LabelledCases:
        """Read rows or images, whichever the model needs."""
        return self._read_images(out) if self.has_images else self._read_rows(out)

    def _read_rows(self, out: Out) -> LabelledCases:
        from askwise.data.tables.files import read_table

        given_images = self.source != ImageSourceOptions()
        if given_images or self.cases.is_dir() or self.cases.suffix.lower() == ".npz":
            raise AskwiseError(f"{self.model} is a model of tables; give it a table, CSV or Parquet, and no images")
        with busy(out, f"Reading {self.cases.name}"):
            frame = tables.with_line_numbers(read_table(self.cases), self.cases)
        X, y = tables.split_target(frame, self._target_column(frame.columns), out)
        weights, X, y = tables.split_weights(X, y, self.weights, "--weights", out)
        model = self.estimator.model_
        self._note_weights(X.columns, out)
        split_by, rest = tables.split_groups(X, self.split_by, f"{self.cases}, named by --split-by")
        # A column that is asked about stays where it is.
        X = X if self.split_by in model.schema.column_names else rest
        X = tables.align_columns(X, model.schema, self.cases, out, self.allow_implausible)
        return LabelledCases(X, tables.model_labels(y, model.task), split_by=split_by, weights=weights)

    def _note_weights(self, columns: Collection[str], out: Out) -> None:
        """Say that the model was trained with weights that these rows have too, and that were not asked for."""
        trained = self.estimator.model_.card.get("weights")
        if self.weights is None and trained is not None and trained in columns:
            out.note(
                f"{self.model} was trained with --weights {shlex.quote(trained)}; give it here too, "
                "or all rows count the same"
            )

    def _read_images(self, out: Out) -> LabelledCases:
        cases, source, target = self.cases, self.source, self.target
        if self.allow_implausible:
            raise AskwiseError("--allow-implausible is about limits of columns, and images have none; leave it out")
        if self.weights is not None:
            raise AskwiseError(f"--weights is about the rows of a table, and {cases} holds images; leave it out")
        if image_files.is_table(cases):
            source, target = self._image_columns()
        elif target is not None:
            where = "sub-folders" if cases.is_dir() else "array `y`"
            raise AskwiseError(f"{cases} has its answers in its {where}, not in a column; leave --target out")
        if not image_files.holds_images(cases, source.images):
            raise AskwiseError(
                f"{self.model} is a model of images, and {cases} is none of a folder with a sub-folder for each class, "
                "an .npz, or a table with --images COLUMN, the column with their paths"
            )
        split_by = self._split_of_images()
        return LabelledCases(
            *image_files.read_images_for_model(out, cases, source, target, self.estimator), split_by=split_by
        )

    def _split_of_images(self) -> Any:
        """Return which images belong together, by a column of their table."""
        from askwise.data.tables.files import read_table

        if self.split_by is None:
            return None
        if not image_files.is_table(self.cases):
            raise AskwiseError(f"--split-by names a column of a table, and {self.cases} is none; leave it out")
        return tables.split_groups(read_table(self.cases), self.split_by, f"{self.cases}, named by --split-by")[0]

    def _image_columns(self) -> tuple[ImageSourceOptions, str]:
        """Return the columns of a table with the paths of images and with the answers; by default as in training."""
        from askwise.data.tables.files import read_table

        columns = [str(name) for name in read_table(self.cases).columns]
        trained_column = self.estimator.model_.card.get(image_files.IMAGE_COLUMN)
        if self.source.images is None and trained_column not in columns:
            why = "" if trained_column is None else f" without {trained_column!r}, which had their paths in training"
            raise AskwiseError(
                f"{self.model} is a model of images, and {self.cases} a table{why}; name its column with the paths of "
                f"the images: --images COLUMN; it has {listed(columns)}"
            )
        column = self.source.images or str(trained_column)
        return ImageSourceOptions(column, self.source.split), self._target_column(columns)

    def _target_column(self, columns: Collection[str]) -> str:
        """Return the column with the answers; by default that of training, which must exist."""
        if self.target is not None:
            return self.target
        target = self.estimator.model_.card.get("target")
        if target is None:
            raise AskwiseError(
                f"{self.model} does not say what its target was called; name the column: --target COLUMN"
            )
        if target not in columns:
            raise AskwiseError(
                f"{self.cases} has no column {target!r}, which the model predicts; name it with --target; it has "
                f"{listed(columns)}"
            )
        return str(target)
