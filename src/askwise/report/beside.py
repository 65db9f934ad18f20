"""Two models beside each other in a report: whether they can be compared, and what tells them apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from askwise.core.errors import AskwiseError, listed
from askwise.core.tasks import Classification
from askwise.methods.base import Method
from askwise.methods.settings import CIRCUMSTANCES
from askwise.model.model import Model


def check_beside(model: Model, other: Model) -> None:
    """Raise where a second model does not have the questions and answers of the first."""
    ours, theirs = model.schema, other.schema
    if ours.column_names != theirs.column_names:
        how = _apart("only one of the two has", ours.column_names, theirs.column_names)
        raise AskwiseError(f"the second model has other columns: {how}; train it on the same table")
    groups, others = (list(zip(schema.space.names, schema.space.members, strict=True)) for schema in (ours, theirs))
    if groups != others:
        how = _apart("they differ in", groups, others, lambda group: group[0])
        raise AskwiseError(
            f"the second model groups its columns otherwise: {how}; train it with the same groups and free columns"
        )
    labels, other_labels = _labels(model), _labels(other)
    if labels != other_labels:
        how = f": {_apart('only one of the two has', labels, other_labels)}" if labels and other_labels else ""
        raise AskwiseError(
            f"the second model predicts {_answers(other)}, the first {_answers(model)}{how}; train it for the same "
            "target"
        )


def _apart(says: str, one: Sequence[Any], two: Sequence[Any], name: Callable[[Any], Any] = lambda item: item) -> str:
    """What tells two sequences apart, in words."""
    odd = [item for item in one if item not in two] + [item for item in two if item not in one]
    return f"{says} {listed(dict.fromkeys(map(name, odd)))}" if odd else "they are in another order"


def _labels(model: Model) -> tuple[Any, ...]:
    """The labels of classes; of a number none."""
    return tuple(model.task.labels) if isinstance(model.task, Classification) else ()


def _answers(model: Model) -> str:
    return f"one of {listed(_labels(model))}" if _labels(model) else "a number"


def price_notes(model: Model, other: Model) -> tuple[str, ...]:
    """A line where two models learnt under different prices, at most one of which are those of the report."""
    ours, theirs = model.schema.space, other.schema.space
    prices = zip(ours.names, ours.costs, theirs.costs, strict=True)
    odd = [name for name, mine, other_price in prices if mine != other_price]
    if not odd:
        return ()
    return (
        f"The second model was trained with other prices of {listed(odd)}. Here both are measured at the same prices, "
        "so part of what differs may come from that.",
    )


def differing_settings(one: Method, two: Method) -> tuple[str, str]:
    """The settings in which two estimators differ, in brackets."""
    settings = [
        {
            k: v
            for k, v in e.get_params(deep=False).items()
            if (v is None or isinstance(v, (str, int, float))) and k not in CIRCUMSTANCES
        }
        for e in (one, two)
    ]
    # What only one of them has, or has as a mapping or a network, has no short name.
    differ = [k for k, v in settings[0].items() if k in settings[1] and settings[1][k] != v]
    if not differ:
        return "", ""
    mine, other = (" (" + ", ".join(f"{k}={s[k]}" for k in differ) + ")" for s in settings)
    return mine, other
