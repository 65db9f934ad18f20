"""Predictions for a table, a DataFrame in and a DataFrame out: what was asked of each row, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from askwise.core.arrays import Array
from askwise.core.errors import AskwiseError, listed
from askwise.core.step import StoppingRule
from askwise.core.tasks import Classification
from askwise.data.tables.odd_values import OddValues
from askwise.data.tables.schema import Schema
from askwise.model.model import Acquisition, Model
from askwise.model.prior import Prior
from askwise.model.session_model import Costs

# Between the names of the groups that were asked of a row.
BETWEEN_NAMES = "|"
MOST_ROWS_AT_ONCE, LEAST_ROWS_AT_ONCE = 65_536, 1024
# For the record of all steps of the rows that are computed together.
BYTES_AT_ONCE = 2**26


@dataclass(frozen=True)
class TablePredictions:
    """A table of predictions, a row for each row given and under its index, and the odd values that were looked at.

    Its columns: `prediction`; for classes `proba_` + label, a column for each; unless everything was taken as known,
    `asked` (groups in the order asked, with bars between them), `n_asked`, `spent` and `reason`; `remarks`.
    """

    table: pd.DataFrame
    odd: OddValues


def predict_table(
    model: Model,
    frame: pd.DataFrame,
    stop: StoppingRule | None = None,
    costs: Costs = None,
    ask: bool = True,
    allow_implausible: bool = False,
    prior: Prior = None,
) -> pd.DataFrame:
    """Predictions for the rows of a DataFrame, as `TablePredictions` describes them.

    Columns are found by their names; others are ignored. A column of the model that the frame does not have, and a
    missing value, can't be had. ask: ask each row's best questions until the rule stops it; False takes everything
    that is there as known, and asks nothing. allow_implausible: values that the questions' limits refuse count as
    missing, with a remark, and so does a text in a column of numbers; else they are an error. prior: another prevalence
    than that of training.
    """
    return table_predictions(model, frame, stop, costs, ask, allow_implausible, prior).table


def table_predictions(
    model: Model,
    frame: pd.DataFrame,
    stop: StoppingRule | None = None,
    costs: Costs = None,
    ask: bool = True,
    allow_implausible: bool = False,
    prior: Prior = None,
) -> TablePredictions:
    """The same with the odd values by column, for those who count them."""
    odd = OddValues(allow_refused=allow_implausible)
    rows = model.schema.encode(select_columns(model.schema, frame), odd)
    if not ask:
        outputs = model.outputs(rows, prior) if len(rows) else np.empty((0, model.task.n_outputs))
        found = _prediction(model, model.task.decode(outputs))
        return TablePredictions(_with_remarks(found, odd, frame.index), odd)
    acquired = model.acquire(rows, stop, costs, prior=prior) if len(rows) else _acquired_nothing(model)
    answer = acquired.prediction if acquired.proba is None else acquired.proba
    assert answer is not None
    odd = odd.where_known(_known_columns(model.schema, acquired, len(rows)))
    found = _prediction(model, answer) | _acquisition(model.schema, acquired)
    return TablePredictions(_with_remarks(found, odd, frame.index), odd)


def prediction_columns(model: Model, ask: bool = True) -> tuple[str, ...]:
    """The names of the columns of a table of predictions."""
    nothing = pd.DataFrame(columns=list(model.schema.column_names), dtype=float)
    return tuple(predict_table(model, nothing, ask=ask).columns)


def rows_at_once(model: Model) -> int:
    """How many rows to predict together: as many as keep the record of their steps small."""
    space = model.schema.space
    # Each step of a row is recorded: float32 outputs, and three numbers.
    bytes_of_row = (space.n_groups + 1) * (4 * model.task.n_outputs + 24) + 4 * space.n_entries
    return max(LEAST_ROWS_AT_ONCE, min(MOST_ROWS_AT_ONCE, BYTES_AT_ONCE // bytes_of_row))


def select_columns(schema: Schema, frame: pd.DataFrame) -> pd.DataFrame:
    """The columns of a model in its order, found by name; one that is not there is missing in every row."""
    names = frame.columns.map(str)
    twice = names[names.duplicated()].intersection(schema.column_names)
    if len(twice):
        raise AskwiseError(f"the table has the column {twice[0]!r} twice; keep one")
    if not len(names.intersection(schema.column_names)):
        raise AskwiseError(
            f"the table has no column that the model knows; it has {listed(names)}, and the model knows "
            f"{listed(schema.column_names)}"
        )
    return frame.set_axis(names, axis=1).reindex(columns=list(schema.column_names))


def _acquired_nothing(model: Model) -> Acquisition:
    """What is asked of no rows."""
    answer = model.task.decode(np.empty((0, model.task.n_outputs)))
    known = pd.DataFrame(np.empty((0, model.schema.space.n_groups), dtype=bool), columns=list(model.schema.space.names))
    of_classes = isinstance(model.task, Classification)
    return Acquisition(
        [],
        known,
        np.empty(0),
        np.empty(0, dtype=np.int64),
        np.empty(0, dtype=object),
        proba=answer if of_classes else None,
        prediction=None if of_classes else answer,
    )


def _known_columns(schema: Schema, acquired: Acquisition, n_rows: int) -> dict[str, Array]:
    """In which rows each column was asked; a free one is known in all."""
    groups, everywhere = acquired.known.to_numpy(), np.ones(n_rows, dtype=bool)
    places = zip(schema.column_names, schema.space.group_of_column, strict=False)
    return {name: everywhere if group < 0 else groups[:, group] for name, group in places}


def _prediction(model: Model, answer: Array) -> dict[str, Any]:
    """The columns of decoded outputs: a label and its probabilities, or a number."""
    task = model.task
    if not isinstance(task, Classification):
        return {"prediction": answer}
    labels = pd.Series(list(task.labels))
    probabilities = {f"proba_{label}": answer[:, i] for i, label in enumerate(task.labels)}
    return {"prediction": labels.take(answer.argmax(1)).array, **probabilities}


def _acquisition(schema: Schema, acquired: Acquisition) -> dict[str, Any]:
    """The columns of what was asked."""
    written = {name: _as_one_of_many(name) for name in schema.space.names}
    if any(name != text for name, text in written.items()):
        asked = [BETWEEN_NAMES.join(written[name] for name in order) for order in acquired.order]
    else:
        asked = [BETWEEN_NAMES.join(order) for order in acquired.order]
    return {
        "asked": pd.array(asked, dtype="string"),
        "n_asked": acquired.n_asked,
        "spent": acquired.spent,
        "reason": pd.array(acquired.reason, dtype="string"),
    }


def _as_one_of_many(name: str) -> str:
    """A name as it stands between bars: in quotes if it has a bar or a quote itself, as in a CSV."""
    return '"' + name.replace('"', '""') + '"' if BETWEEN_NAMES in name or '"' in name else name


def _with_remarks(found: dict[str, Any], odd: OddValues, index: pd.Index[Any]) -> pd.DataFrame:
    remarks = pd.array(odd.texts(len(index)), dtype="string")
    return pd.DataFrame({**found, "remarks": remarks}, index=index)
