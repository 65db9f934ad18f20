"""What a threshold on the probability of one of two labels decides: how often it is right, and what that is worth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from askwise.core.arrays import Array
from askwise.core.errors import AskwiseError, unknown_name
from askwise.core.rows import Rows
from askwise.core.step import StoppingRule
from askwise.core.stopping import parse_rule, rule_text
from askwise.core.tasks import Classification, Task
from askwise.evaluation.bend import suggested_rule
from askwise.evaluation.intervals import bootstrap_draws, n_independent, percentiles, share_interval
from askwise.evaluation.label_to_find import label_to_find
from askwise.evaluation.metrics import coded
from askwise.evaluation.ranked import position_to_find
from askwise.evaluation.weights import RowWeights
from askwise.model.model import Model
from askwise.model.session_model import Costs

THRESHOLD = 0.5
# Thresholds of a decision curve.
GRID = np.arange(1, 100) / 100
EVERYTHING = "everything asked"
# Why a label is the one that is called.
AS_GIVEN, BY_TRAINING = "as given", "chosen by the shares of labels in training"
BY_ROWS = "chosen by those in these rows"


@dataclass(frozen=True)
class DecisionOptions:
    """Where decisions are looked at.

    threshold: from which probability on a case is called (default .5). positive: the label that is called, by default
    that of `label_to_find`. stop: the rule that asks, by default that at the bend of the model's frontier.
    persons: the number of each row's person. bootstrap: draws for the intervals, 0 for none.
    """

    threshold: float | None = None
    positive: Any = None
    stop: StoppingRule | None = None
    persons: Array | None = None
    bootstrap: int = 200

    def check(self, task: Task) -> None:
        """Raise a clear error where this can't be decided."""
        choices = {"threshold": self.threshold, "positive label": self.positive, "stopping rule here": self.stop}
        for what, given in choices.items():
            if given is not None and not has_two_classes(task):
                kind = f"one of {len(task.labels)} labels" if isinstance(task, Classification) else "a number"
                raise AskwiseError(f"a {what} is for two labels, and this model predicts {kind}; leave it out")
        if self.threshold is not None and not 0 < self.threshold < 1:
            raise AskwiseError(
                f"a threshold is a probability above 0 and below 1, was given {self.threshold:g}; for 20 % give 0.2"
            )
        if self.positive is not None and isinstance(task, Classification) and self.positive not in task.labels:
            raise unknown_name("positive label", self.positive, task.labels)


@dataclass(frozen=True)
class Decisions:
    """What a threshold decides on some rows.

    label: what is called from `threshold` on; other: the label of the others; stopped: the rule that asked, as text.
    counts: rows, or their weights, by what they are called and what they are; measures: a share each, of n rows, with
    its interval where there are draws; curve: net benefit at many thresholds; n_persons: None where rows stand by
    themselves. chosen: why it is this label. weights: how much each row counts, None if all count the same.
    """

    label: Any
    other: Any
    threshold: float
    stopped: str
    counts: pd.DataFrame
    measures: pd.DataFrame
    curve: pd.DataFrame
    n_persons: int | None
    chosen: str = AS_GIVEN
    weights: Array | None = None


def has_two_classes(task: Task) -> bool:
    return isinstance(task, Classification) and len(task.labels) == 2


def decide(model: Model, rows: Rows, y: Array, costs: Costs, options: DecisionOptions) -> Decisions | None:
    """What a threshold decides where a rule has stopped; None where there are not two labels.

    Rows count by their weights, if they have any.
    """
    options.check(model.task)
    if not isinstance(model.task, Classification) or not has_two_classes(model.task):
        return None
    truth = coded(model.task, y)
    labels = list(model.task.labels)
    weights = None if rows.weight is None else RowWeights.of(rows).of_rows
    k, chosen = _position(model, truth, options.positive, weights)
    rule = _rule(model, costs) if options.stop is None else options.stop
    everything = model.task.decode(model.outputs(rows))[:, k]
    stopped = everything if rule is None else _where_stopped(model, rows, rule, costs)[:, k]
    persons = options.persons
    draws = bootstrap_draws(len(truth), options.bootstrap, persons=persons) if options.bootstrap else None
    threshold = THRESHOLD if options.threshold is None else options.threshold
    found = truth == k
    return Decisions(
        labels[k],
        labels[1 - k],
        threshold,
        EVERYTHING if rule is None else f"stopping at {rule_text(rule)}",
        confusion(stopped >= threshold, found, weights),
        measures(stopped >= threshold, found, threshold, draws, persons, weights),
        decision_curve(stopped, everything, found, draws, weights),
        None if persons is None else n_independent(np.ones(len(truth), dtype=bool), persons),
        chosen,
        weights,
    )


def _position(model: Model, truth: Array, positive: Any, weights: Array | None) -> tuple[int, str]:
    """The position of the label that is called, and why it is this one."""
    assert isinstance(model.task, Classification)
    if positive is not None:
        return list(model.task.labels).index(positive), AS_GIVEN
    of_training = label_to_find(model)
    if of_training is not None:
        return of_training, BY_TRAINING
    return position_to_find(truth, _each(truth, weights)[None]), BY_ROWS


def _each(rows: Array, weights: Array | None) -> Array:
    """The weights, or 1 for each row."""
    return np.ones(len(rows)) if weights is None else weights


def _rule(model: Model, costs: Costs) -> StoppingRule | None:
    """The rule at the bend of the frontier; None, everything, where there is no frontier or asking brings nothing."""
    table = model.frontiers.get(model.costs(costs))
    suggested = None if table is None else suggested_rule(table)
    return None if suggested is None else parse_rule(suggested[0])


def _where_stopped(model: Model, rows: Rows, rule: StoppingRule, costs: Costs) -> Array:
    proba = model.acquire(rows, rule, costs).proba
    assert proba is not None
    return proba


def confusion(called: Array, found: Array, weights: Array | None = None) -> pd.DataFrame:
    """Rows, or the sums of their weights, by what they are called (called, cleared) and what they are (is, is_not)."""
    count = np.ones(len(found), dtype=int) if weights is None else weights
    table = [[count[said & is_so].sum().item() for is_so in (found, ~found)] for said in (called, ~called)]
    return pd.DataFrame(table, index=["called", "cleared"], columns=["is", "is_not"])


# Each measure: of which rows it is the share, and of those that count, from what is called and what is to be found.
SHARES: dict[str, Callable[[Array, Array], tuple[Array, Array]]] = {
    "sensitivity": lambda called, found: (found, called),
    "specificity": lambda called, found: (~found, ~called),
    "positive_predictive_value": lambda called, found: (called, found),
    "negative_predictive_value": lambda called, found: (~called, ~found),
}


def measures(
    called: Array,
    found: Array,
    threshold: float,
    draws: Array | None = None,
    persons: Array | None = None,
    weights: Array | None = None,
) -> pd.DataFrame:
    """Sensitivity, specificity, both predictive values and the net benefit: value, n, and from draws low and high.

    Under unequal weights no share is a plain mean of rows: its interval is that of the draws.
    """
    each = _each(found, weights)
    is_plain = bool((each == each[:1]).all())
    lines: dict[str, dict[str, float]] = {}
    for name, share in SHARES.items():
        among, right = share(called, found)
        n = int(among.sum())
        value = _share(each, among, right)
        lines[name] = {"value": value, "n": n}
        if draws is not None:
            needed = persons is not None or not is_plain
            drawn = np.array([_share(draw * each, among, right) for draw in draws]) if needed else None
            ends = share_interval(value, among, drawn, persons, is_plain) if n else (np.nan, np.nan)
            lines[name] |= {"low": ends[0], "high": ends[1]}
    lines["net_benefit"] = {"value": _benefit(each, called, found, threshold), "n": len(found)}
    if draws is not None:
        low, high = percentiles(np.array([_benefit(draw * each, called, found, threshold) for draw in draws]))
        lines["net_benefit"] |= {"low": low, "high": high}
    return pd.DataFrame(lines).T.astype({"n": int})


def _share(weight: Array, among: Array, right: Array) -> float:
    total = float(weight[among].sum())
    return float(weight[among & right].sum()) / total if total else np.nan


def _benefit(weight: Array, called: Array, found: Array, threshold: float) -> float:
    """Net benefit: true calls less false ones, one of which weighs threshold / (1 - threshold), per row."""
    odds = threshold / (1 - threshold)
    total = float(weight.sum())
    return (float(weight[called & found].sum()) - odds * float(weight[called & ~found].sum())) / total


def net_benefit(probability: Array, found: Array, weight: Array, thresholds: Array = GRID) -> Array:
    """The net benefit at each of rising thresholds (Vickers and Elkin, 2006), in true calls per row."""
    place = np.searchsorted(thresholds, probability, side="right")
    true, false = (
        np.bincount(place, weight * which, len(thresholds) + 1)[::-1].cumsum()[::-1][1:] for which in (found, ~found)
    )
    return np.asarray((true - thresholds / (1 - thresholds) * false) / weight.sum())


def decision_curve(
    stopped: Array, everything: Array, found: Array, draws: Array | None = None, weights: Array | None = None
) -> pd.DataFrame:
    """Net benefit at many thresholds, with its interval, that with everything asked, of calling all, and nobody."""
    each = _each(found, weights)
    table = pd.DataFrame({"threshold": GRID, "net_benefit": net_benefit(stopped, found, each)})
    if draws is not None:
        drawn = np.array([net_benefit(stopped, found, draw * each) for draw in draws])
        table["net_benefit_low"], table["net_benefit_high"] = np.quantile(drawn, [0.025, 0.975], axis=0)
    table["everything_asked"] = net_benefit(everything, found, each)
    return table.assign(treat_all=net_benefit(np.ones(len(found)), found, each), treat_none=0.0)
