"""The numbers of a report: what is computed before anything is drawn or written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from askwise.core.arrays import Array
from askwise.core.errors import AskwiseError
from askwise.core.row_weights import check_row_weights
from askwise.core.rows import Rows, evenly
from askwise.core.step import StoppingRule
from askwise.core.stopping import RULES
from askwise.core.tasks import Classification
from askwise.data.images.schema import ImageSchema
from askwise.evaluation import frontier, metrics, summaries
from askwise.evaluation.decisions import DecisionOptions, Decisions, decide
from askwise.evaluation.intervals import person_numbers
from askwise.evaluation.reweighted import Reweighted, reweighted_curve
from askwise.methods.base import Method
from askwise.model.model import Acquisition, Model
from askwise.model.session_model import Costs
from askwise.report.cases import AcquiredSample, Cases
from askwise.report.image_cases import ImageCases
from askwise.report.plots.style import number_text
from askwise.report.table_cases import TableCases

# Selection and stop reasons are shares: more cases than this would not change them.
MOST_ROWS = 10_000


@dataclass(frozen=True)
class ReportOptions:
    """What a report is about.

    costs: prices, if others than those of training. bootstrap: draws for the intervals. beside: a second estimator of
    the same questions, whose estimates are drawn beside those of the first. subject: what is reported on, such as the
    names of files. names: of images, what each is called, as in `Images.sources`; without them it is its row, counted
    from 0. weights: how much each case counts in metrics, mean costs and calibration, a number above 0. target: what is
    predicted, by default the target of training where its name is known. split_by: one value a row, such as its person,
    whose rows are not independent. threshold, positive, stop: where two labels are told apart, as in `DecisionOptions`.
    """

    costs: Costs = None
    bootstrap: int = 200
    beside: Method | None = None
    subject: str = ""
    names: Sequence[str] | None = None
    weights: Sequence[float] | None = None
    target: str = ""
    split_by: Any = None
    threshold: float | None = None
    positive: Any = None
    stop: StoppingRule | None = None

    def persons(self, n_rows: int) -> Array | None:
        """The number of each row's person, where rows have one."""
        return None if self.split_by is None else person_numbers(self.split_by, n_rows)

    def decisions(self, n_rows: int) -> DecisionOptions:
        """Where two labels are told apart."""
        return DecisionOptions(self.threshold, self.positive, self.stop, self.persons(n_rows), self.bootstrap)


@dataclass(frozen=True)
class Findings:
    """All numbers of a report."""

    model: Model
    prices: tuple[float, ...]
    n_cases: int
    table: pd.DataFrame
    points: pd.DataFrame
    reasons: pd.DataFrame
    cases: Cases
    truth: Array
    weights: Array | None
    frontier: pd.DataFrame | None
    frontier_rows: str
    decisions: Decisions | None
    target: str
    n_persons: int | None
    reweighted: Reweighted | None = None

    @property
    def metrics(self) -> list[str]:
        """The two metrics of the headlines."""
        return summaries.metrics_of(self.table)[:2]


def find(estimator: Method, X: Any, y: Any, table: pd.DataFrame, options: ReportOptions) -> Findings:
    """Compute all numbers of a report but the curve, which is given, and the calibration."""
    model, costs = estimator.model_, options.costs
    weights = check_row_weights(options.weights, len(X), "weights")
    if weights is not None and not weights.all():
        raise AskwiseError("weights of a report must be above 0; leave out the cases whose weight is 0")
    rows = estimator.encode(X).with_weight(weights)
    truth = metrics.as_labelled(model.task, estimator.check_target(y))
    persons = options.persons(len(rows))
    prices = model.costs(costs)
    points = summaries.operating_points(table, summaries.main_metric(table))
    some = evenly(len(rows), MOST_ROWS)
    rules = _rules(points)
    acquired = {name: model.acquire(rows.take(some), rule, costs) for name, rule in rules.items()}
    # The rule that the budget is not: penalty, or where there is none confidence.
    shown = list(rules)[len(points) - 1]
    examples = _example_rows(model, acquired[shown], truth[some.numpy()])
    sample = AcquiredSample(
        model, rows, truth, costs, some, shown, rules[shown], acquired[shown], examples, options.names
    )
    return Findings(
        model, prices, len(rows), table, points,
        reasons=summaries.reason_counts(acquired),
        cases=(ImageCases if isinstance(model.schema, ImageSchema) else TableCases)(sample),
        truth=truth,
        weights=weights,
        frontier=_frontier(model, rows, truth, costs),
        frontier_rows="the validation rows of training" if prices in model.frontiers else "these cases",
        decisions=decide(model, rows, truth, costs, options.decisions(len(rows))),
        target=options.target or str(model.card.get("target") or ""),
        n_persons=None if persons is None else int(persons.max()) + 1,
        reweighted=reweighted_curve(model, rows, truth, costs),
    )  # fmt: skip


def _frontier(model: Model, rows: Rows, y: Array, costs: Costs) -> pd.DataFrame | None:
    """What AverageCost looks up; under costs that have no frontier yet, that of these rows; None without penalties."""
    if not model.policy.is_information:
        return None
    prices = model.costs(costs)
    return model.frontiers[prices] if prices in model.frontiers else frontier.frontier(model, rows, y, costs)


def _rules(points: pd.DataFrame) -> dict[str, StoppingRule]:
    """Each rule at its point, and each but the budget under the budget's cap, by name."""
    pairs = zip(points["rule"], points["parameter"], strict=True)
    alone = {f"{name}={number_text(setting)}": RULES[name](setting) for name, setting in pairs}
    (cap_name, cap), *others = alone.items()
    return {**alone, **{f"{cap_name} | {name}": cap | rule for name, rule in others}}


def _example_rows(model: Model, acquired: Acquisition, truth: Array, spread: int = 4, wrong: int = 2) -> Array:
    """Positions of a few rows: from the fewest questions to the most, and the surest mistakes; by number asked."""
    order = np.argsort(acquired.n_asked, kind="stable")
    chosen = order[evenly(len(order), spread).numpy()].tolist()
    if isinstance(model.task, Classification):
        assert acquired.proba is not None
        missed = acquired.proba.argmax(1) != metrics.coded(model.task, truth)
        badness = np.where(missed, acquired.proba.max(1), 0.0)
    else:
        assert acquired.prediction is not None
        badness = np.abs(acquired.prediction - truth)
    worst = [i for i in np.argsort(-badness, kind="stable").tolist() if badness[i] > 0 and i not in chosen]
    rows = np.array([*chosen, *worst[:wrong]])
    return rows[np.argsort(acquired.n_asked[rows], kind="stable")]
