"""Numbers that tell whether a model's own numbers can be trusted: its confidence, and its estimates of information."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
import torch

from askwise.core.arrays import Array
from askwise.core.costs import are_equal, total_cost
from askwise.core.row_weights import effective_rows
from askwise.core.rows import Rows, evenly
from askwise.core.stopping import Budget
from askwise.core.tasks import Classification, Task
from askwise.evaluation.estimates import by_bin, estimates_summary, realised
from askwise.evaluation.intervals import Z as Z
from askwise.evaluation.intervals import wilson
from askwise.evaluation.metrics import bin_sums, coded, equal_mass_bins, expected_calibration_error
from askwise.evaluation.weights import mean_and_error
from askwise.model.model import Model
from askwise.model.session_model import Costs

# The paper looks at predictions after this many questions.
QUESTIONS = 15
# Questions asked along whole paths: more would not change their means, and fill the memory.
MOST_ROWS = 10_000
MOST_RECORDS = 1_000_000
BARS = 40


@dataclass(frozen=True)
class Calibration:
    """What a model said of some rows, and what was true.

    at_budget, everything: probabilities (rows, classes) or predictions (rows,), at the budget and with everything
    known; truth: positions of labels, or numbers; questions: as from `realised`, None where scores are only an order;
    too_dear: groups that cost more than the budget, of which nothing is said here. weights: how much each row counts,
    (rows,); None if all count the same.
    """

    task: Task
    budget: float
    at_budget: Array
    everything: Array
    truth: Array
    questions: pd.DataFrame | None
    too_dear: tuple[str, ...] = ()
    weights: Array | None = None

    @cached_property
    def summary(self) -> dict[str, float]:
        """The numbers in short; of a regression those of the estimates only."""
        numbers = {"budget": self.budget}
        if isinstance(self.task, Classification):
            for name, proba in {"ece": self.at_budget, "ece_everything": self.everything}.items():
                by_chance = drawn_ece(proba, weights=self.weights)
                numbers |= {
                    name: _ece(proba, self.truth, self.weights),
                    f"{name}_if_perfect": float(by_chance.mean()),
                    f"{name}_if_perfect_high": float(np.quantile(by_chance, 0.95)),
                }
        return numbers | ({} if self.questions is None else estimates_summary(self.questions))


def calibration(model: Model, rows: Rows, y: Array, costs: Costs = None, persons: Array | None = None) -> Calibration:
    """What a model says of some rows at `calibration_budget`, on the way to it, and with everything known.

    persons: the number of each row's person; errors of estimates then count persons, not rows.
    """
    prices = model.costs(costs)
    truth = coded(model.task, y)
    rule = Budget(calibration_budget(prices))
    trace = model.trace(rows, [rule], prices, walked_by=rule)
    outputs, _, _ = trace.at(trace.stops[0].at)
    some = evenly(len(rows), max(1, min(MOST_ROWS, MOST_RECORDS // len(prices))))
    affordable = rule.allows(torch.zeros(1), torch.tensor(prices, dtype=torch.float64))[0].tolist()
    questions = realised(model, rows, y, rule.k, costs, some) if model.policy.is_information else None
    if questions is not None and persons is not None:
        questions = questions.assign(person=persons[questions["row"]])
    return Calibration(
        model.task,
        rule.k,
        model.task.decode(outputs),
        model.task.decode(model.outputs(rows)),
        truth,
        questions,
        tuple(name for name, can_pay in zip(model.schema.space.names, affordable, strict=True) if not can_pay),
        None if rows.weight is None else rows.weight.double().numpy(),
    )


def calibration_budget(prices: Sequence[float]) -> float:
    """A budget at which much, but not everything, is known: the worth of 15 questions, or half of few.

    Equal prices give a whole number of questions.
    """
    n_questions = QUESTIONS if len(prices) > QUESTIONS else len(prices) / 2
    if are_equal(prices):
        n_questions = np.ceil(n_questions)
    return float(total_cost(prices) * n_questions / len(prices))


def _ece(proba: Array, truth: Array, weights: Array | None) -> float:
    counts = np.ones(len(truth)) if weights is None else weights
    return float(expected_calibration_error(proba, truth, counts[None])[0])


def perfect_ece(proba: Array, draws: int = 200, seed: int = 0) -> float:
    """The mean ECE of a perfect model with these predictions: 0 only on endless rows."""
    return float(drawn_ece(proba, draws, seed).mean())


def drawn_ece(proba: Array, draws: int = 200, seed: int = 0, weights: Array | None = None) -> Array:
    """The ECE that a perfect model with these predictions shows by chance, once a draw of the labels, (draws,).

    Labels are drawn from the probabilities; all that ECE sees of them is whether the likeliest one came.
    """
    confidence = proba.max(1)
    rng = np.random.default_rng(seed)
    weights = np.ones(len(confidence)) if weights is None else weights
    bins = equal_mass_bins(confidence, weights[None])
    gaps = (weights * ((rng.random(len(confidence)) < confidence) - confidence) for _ in range(draws))
    return np.array([np.abs(bin_sums(bins, gap[None])).sum() for gap in gaps]) / weights.sum()


def reliability(proba: Array, truth: Array, weights: Array | None = None) -> pd.DataFrame:
    """Mean confidence and accuracy, with its 95 % interval from low to high, of the n rows in each bin of the ECE."""
    confidence, right = proba.max(1), (proba.argmax(1) == truth).astype(float)
    bins = _binned({"confidence": confidence, "accuracy": right}, "confidence", weights)
    low, high = wilson(bins["accuracy"].to_numpy(), bins["effective"].to_numpy())
    return bins[["n", "confidence", "accuracy"]].assign(low=low, high=high)


def _binned(columns: dict[str, Array], by: str, weights: Array | None) -> pd.DataFrame:
    """Bins of rows: n, how many equal rows they are worth (effective), the mean of each column and its error."""
    table = pd.DataFrame(columns).assign(weight=1.0 if weights is None else weights)
    records = []
    for _, part in by_bin(table, by):
        weight, n = part["weight"].to_numpy(), len(part)
        effective = effective_rows(weight, n)
        record = {"n": n, "effective": effective}
        # One row tells nothing of its spread.
        more = math.sqrt(effective / (effective - 1)) if n > 1 else math.nan
        for name in columns:
            mean, error = mean_and_error(part[name].to_numpy(), weight)
            record |= {name: mean, f"{name}_error": error * more}
        records.append(record)
    return pd.DataFrame(records)


def number_reliability(prediction: Array, truth: Array, weights: Array | None = None) -> pd.DataFrame:
    """Mean prediction and mean truth in at most ten equal bins of the prediction, with a 95 % interval of the latter.

    One row tells nothing of its spread: there the interval is NaN.
    """
    bins = _binned({"prediction": prediction, "truth": truth}, "prediction", weights)
    mean, half = bins["truth"], Z * bins["truth_error"]
    return bins[["n", "prediction", "truth"]].assign(low=mean - half, high=mean + half)


def confidence_counts(proba: Array, truth: Array) -> pd.DataFrame:
    """How many rows have which confidence: each bar's ends, low and high, and its rows that are right and wrong."""
    confidence, is_right = proba.max(1), proba.argmax(1) == truth
    edges = np.linspace(0, 1, BARS + 1)
    right, wrong = (np.histogram(confidence[which], edges)[0] for which in (is_right, ~is_right))
    return pd.DataFrame({"low": edges[:-1], "high": edges[1:], "right": right, "wrong": wrong})
