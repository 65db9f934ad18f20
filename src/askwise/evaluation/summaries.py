"""Numbers about who was asked what: selection frequencies, reasons, paths, operating points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch

from askwise.core.errors import AskwiseError
from askwise.core.rows import Rows
from askwise.core.step import NOTHING_LEFT, StoppingRule
from askwise.core.stopping import RULES
from askwise.core.tasks import Classification
from askwise.evaluation.areas import area_under_curve
from askwise.evaluation.bend import MOST_SPENT, find_bend
from askwise.evaluation.metrics import OfMetrics
from askwise.model.model import Acquisition, Model
from askwise.model.session_model import Costs

# Which way each metric of an evaluation is better.
HIGHER_IS_BETTER = OfMetrics(lambda metric: metric.higher_is_better)
# Reasons in the order of a table; those of rules of one's own come after them.
REASONS = (*RULES, NOTHING_LEFT)
# The columns of a path before its answers.
PATH_FACTS = ("row", "step", "asked", "spent", "reason")


def metrics_of(table: pd.DataFrame) -> list[str]:
    """The metrics that a table of a curve or frontier holds, in its order."""
    return [name for name in table.columns if name in HIGHER_IS_BETTER]


def main_metric(table: pd.DataFrame) -> str:
    """The metric to show where none is named: the first of the table, as `metrics_in_order` has them.

    It is accuracy, or RMSE where a number is predicted; AUROC where one class has nearly all rows.
    """
    for name in metrics_of(table):
        return name
    raise AskwiseError(f"the table has no metric; it has the columns {list(table.columns)!r}: give that of model.curve")


def is_led_by_auroc(table: pd.DataFrame) -> bool:
    """Whether a table is of rows of which nearly all have one label, so that accuracy does not lead."""
    return "auroc" in table.columns and main_metric(table) == "auroc"


def everything(table: pd.DataFrame) -> pd.Series[Any]:
    """The record of a curve that spends most: what asking everything reaches."""
    return table.loc[table["mean_cost"].idxmax()]


def operating_points(table: pd.DataFrame, metric: str) -> pd.DataFrame:
    """For each rule of a curve the record where its curve bends, and the areas of its curve.

    The bend is the point furthest above the chord from nothing to everything; it spends at most 80 % of everything.
    Where asking wins nothing, it is the record that spends most within these 80 %.
    """
    most = float(everything(table)["mean_cost"])
    found = []
    for _, part in table.groupby("rule", sort=False):
        part = part.sort_values("mean_cost")
        bend = find_bend(part, metric)
        within = part[part["mean_cost"] <= MOST_SPENT * most]
        point = part.loc[bend.index] if bend is not None else (part if within.empty else within).iloc[-1]
        areas = {f"{m}_area": area_under_curve(part, m, most) for m in metrics_of(table)}
        found.append({**point.to_dict(), "cost_share": point["mean_cost"] / most if most else 0.0, **areas})
    return pd.DataFrame(found)


def selection_frequency(order: Sequence[Sequence[str]], names: Sequence[str], most: int | None = None) -> pd.DataFrame:
    """Share of rows in which each group is among the first 1, 2, ..., `most` questions; the earliest asked comes first.

    order: what was asked of each row, as in `Acquisition.order`. A row that stopped early keeps what it knew.
    """
    longest = max((len(row) for row in order), default=0)
    most = max(1, longest if most is None else min(most, longest))
    position = {name: i for i, name in enumerate(names)}
    asked = np.zeros((len(names), most))
    for row in order:
        for step, name in enumerate(row[:most]):
            asked[position[name], step] += 1
    share = asked.cumsum(1) / max(1, len(order))
    first = np.argsort(-share.sum(1), kind="stable")
    return pd.DataFrame(share[first], index=[names[i] for i in first], columns=pd.RangeIndex(1, most + 1))


def reason_counts(acquisitions: Mapping[str, Acquisition]) -> pd.DataFrame:
    """How many rows stopped for which reason: one line for each named acquisition, one column for each reason."""
    counts = {name: pd.Series(a.reason).value_counts() for name, a in acquisitions.items()}
    table = pd.DataFrame(counts).T.fillna(0).astype(int)
    known = [r for r in REASONS if r in table.columns]
    return table[[*known, *sorted(c for c in table.columns if c not in known)]]


def path_table(
    model: Model, rows: Rows, stop: StoppingRule | None, costs: Costs = None, which: Sequence[int] | None = None
) -> pd.DataFrame:
    """The path of single rows: after each question what was asked, what is spent and what is predicted.

    which: positions of rows (default: all). Columns: row, step (0: nothing asked), asked, spent, reason (at the last
    step), then P(label) for each label, or prediction.
    """
    chosen = list(range(len(rows))) if which is None else [int(i) for i in which]
    wrong = [i for i in chosen if not 0 <= i < len(rows)]
    if wrong or not chosen:
        raise AskwiseError(f"which={chosen!r} must name rows by position, 0 to {len(rows) - 1}, and at least one")
    prices = model.costs(costs)
    rule = model.rule(stop, prices)
    trace = model.trace(rows.take(torch.tensor(chosen)), [rule], prices, walked_by=rule)
    names = model.schema.space.names
    found: list[tuple[Any, ...]] = []
    for i, row in enumerate(chosen):
        choices = trace.choice[: int(trace.stops[0].at[i]), i].tolist()
        # A rule may hold a row where nothing can be asked: such a step changed nothing.
        asked = [(t + 1, names[group]) for t, group in enumerate(choices) if group >= 0]
        at = [0, *(t for t, _ in asked)]
        reasons = [*[""] * len(asked), str(trace.stops[0].reason[i])]
        answers = model.task.decode(trace.outputs[at, i]).reshape(len(at), -1).tolist()
        spent = trace.spent[at, i].tolist()
        steps = zip(["", *(name for _, name in asked)], spent, reasons, answers, strict=True)
        found += [(row, step, name, cost, why, *answer) for step, (name, cost, why, answer) in enumerate(steps)]
    return pd.DataFrame(found, columns=[*PATH_FACTS, *_answer_columns(model)])


def _answer_columns(model: Model) -> list[str]:
    if isinstance(model.task, Classification):
        return [f"P({label})" for label in model.task.labels]
    return ["prediction"]
