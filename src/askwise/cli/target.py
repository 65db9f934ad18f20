"""The task: whether the target holds classes or numbers, and its values as an estimator takes them."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

from askwise.cli.common import Out
from askwise.core.errors import AskwiseError

if TYPE_CHECKING:
    import pandas as pd

# Whole numbers with no more different values than this are taken for classes.
MOST_CLASSES = 20


class TaskChoice(StrEnum):
    """The values of --task."""

    auto = "auto"
    classification = "classification"
    regression = "regression"


def choose_task(y: pd.Series[Any], wanted: TaskChoice, out: Out) -> tuple[str, Any]:
    """Return the task and the target as the estimator takes it; a note says what was chosen and how to change it."""
    import numpy as np
    import pandas as pd

    number = pd.api.types.is_numeric_dtype(y) and not pd.api.types.is_bool_dtype(y)
    if number and not np.isfinite(y.to_numpy(dtype=np.float64)).all():
        raise AskwiseError(f"the target {str(y.name)!r} holds infinity; give finite numbers")
    whole = bool(number and (y == y.round()).all())
    chosen = str(wanted)
    if wanted is TaskChoice.auto:
        chosen = "classification" if not number or (whole and y.nunique() <= MOST_CLASSES) else "regression"
        out.note(f"Predicting {str(y.name)!r} by {chosen}, since it holds {_describe(y, number, chosen)}")
    if chosen == "regression":
        return chosen, y.to_numpy()
    if number and not whole:
        fraction = float(y[y != y.round()].iloc[0])
        raise AskwiseError(
            f"the target {str(y.name)!r} holds {fraction!r}; classes are texts or whole numbers. "
            "For a number to be predicted: --task regression"
        )
    return chosen, _class_labels(y, number)


def _describe(y: pd.Series[Any], number: bool, chosen: str) -> str:
    if not number:
        return f"labels (different ones: {y.nunique()})"
    if chosen == "classification":
        return f"whole numbers, and few different ones ({y.nunique()}); to change that: --task regression"
    return "numbers; to change that: --task classification"


def _class_labels(y: pd.Series[Any], number: bool) -> Any:
    """Return labels as plain whole numbers, booleans or texts, whatever the file's type was."""
    import pandas as pd

    from askwise.data.tables.column import category_key

    if number:
        return y.to_numpy(dtype="int64")
    return y.to_numpy(dtype=bool) if pd.api.types.is_bool_dtype(y) else y.map(category_key).to_numpy(dtype=object)
