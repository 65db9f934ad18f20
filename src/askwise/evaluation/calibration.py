"""Numbers that tell whether a model's own numbers can be trusted: its confidence, and its estimates of information."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from askwise.core.arrays import Array
from askwise.core.rows import Rows, evenly
from askwise.core.stopping import Budget
from askwise.core.tasks import Classification, Task, entropy
from askwise.core.walk import walk
from askwise.evaluation.metrics import bin_sums, coded, equal_mass_bins, expected_calibration_error
from askwise.model.model import Costs, Model

if TYPE_CHECKING:
    from pandas.core.groupby import DataFrameGroupBy


# The paper looks at predictions after this many questions.
QUESTIONS = 15
# Questions asked along whole paths: more would not change their means, and fill the memory.
MOST_ROWS = 10_000
MOST_RECORDS = 1_000_000
# Standard errors from the mean to either end of a 95 % interval.
Z = 1.96
BARS = 40


@dataclass(frozen=True)
class Calibration:
    """What a model said of some rows, and what was true.

    at_budget, everything: probabilities (rows, classes) or predictions (rows,), at the budget and with everything
    known; truth: positions of labels, or numbers; questions: as from `realised`, None where scores are only an order;
    too_dear: groups that cost more than the budget, of which nothing is said here.
    """

    task: Task
    budget: float
    at_budget: Array
    everything: Array
    truth: Array
    questions: pd.DataFrame | None
    too_dear: tuple[str, ...] = ()

    @cached_property
    def summary(self) -> dict[str, float]:
        """The numbers in short; of a regression those of the estimates only."""
        numbers = {"budget": self.budget}
        if isinstance(self.task, Classification):
            for name, proba in {"ece": self.at_budget, "ece_everything": self.everything}.items():
                by_chance = drawn_ece(proba)
                numbers |= {
                    name: _ece(proba, self.truth),
                    f"{name}_if_perfect": float(by_chance.mean()),
                    f"{name}_if_perfect_high": float(np.quantile(by_chance, 0.95)),
                }
        return numbers | ({} if self.questions is None else estimates_summary(self.questions))


def calibration(model: Model, rows: Rows, y: Array, costs: Costs = None) -> Calibration:
    """What a model says of some rows at `telling_budget`, on the way to it, and with everything known."""
    prices = model.costs(costs)
    truth = coded(model.task, y)
    rule = Budget(telling_budget(prices))
    trace = model.trace(rows, [rule], prices, walked_by=rule)
    outputs, _, _ = trace.at(trace.stops[0].at)
    some = evenly(len(rows), max(1, min(MOST_ROWS, MOST_RECORDS // len(prices))))
    affordable = rule.allows(torch.zeros(1), torch.tensor(prices, dtype=torch.float64))[0].tolist()
    return Calibration(
        model.task,
        rule.k,
        model.task.decode(outputs),
        model.task.decode(model.outputs(rows)),
        truth,
        realised(model, rows, y, rule.k, costs, some) if model.policy.is_information else None,
        tuple(name for name, can_pay in zip(model.schema.space.names, affordable, strict=True) if not can_pay),
    )


def telling_budget(prices: Sequence[float]) -> float:
    """A budget at which much, but not everything, is known: the worth of 15 questions, or half of few.

    Equal prices give a whole number of questions.
    """
    n_questions = QUESTIONS if len(prices) > QUESTIONS else len(prices) / 2
    if len(set(prices)) == 1:
        n_questions = np.ceil(n_questions)
    return float(sum(prices) * n_questions / len(prices))


# Predictions


def _ece(proba: Array, truth: Array) -> float:
    return float(expected_calibration_error(proba, truth, np.ones((1, len(truth))))[0])


def perfect_ece(proba: Array, draws: int = 200, seed: int = 0) -> float:
    """The mean ECE of a perfect model with these predictions: 0 only on endless rows."""
    return float(drawn_ece(proba, draws, seed).mean())


def drawn_ece(proba: Array, draws: int = 200, seed: int = 0) -> Array:
    """The ECE that a perfect model with these predictions shows by chance, once a draw of the labels, (draws,).

    Labels are drawn from the probabilities; all that ECE sees of them is whether the likeliest one came.
    """
    confidence = proba.max(1)
    rng = np.random.default_rng(seed)
    bins = equal_mass_bins(confidence, np.ones((1, len(confidence))))
    gaps = (((rng.random(len(confidence)) < confidence) - confidence)[None] for _ in range(draws))
    return np.array([np.abs(bin_sums(bins, gap)).sum() for gap in gaps]) / len(confidence)


def reliability(proba: Array, truth: Array) -> pd.DataFrame:
    """Mean confidence and accuracy, with its 95 % interval from low to high, of the n rows in each bin of the ECE."""
    confidence, right = proba.max(1), (proba.argmax(1) == truth).astype(float)
    bins = _by_bin(pd.DataFrame({"confidence": confidence, "accuracy": right}), "confidence")
    n, means = bins.size(), bins.mean()
    low, high = _wilson(means["accuracy"].to_numpy(), n.to_numpy())
    return pd.DataFrame({"n": n, **means, "low": low, "high": high}).reset_index(drop=True)


def _by_bin(table: pd.DataFrame, by: str) -> DataFrameGroupBy[Any, Any]:
    """The records of a table in at most ten bins of about equally many, by one of its columns."""
    return table.groupby(equal_mass_bins(table[by].to_numpy(), np.ones((1, len(table))))[0])


def _wilson(share: Array, n: Array) -> tuple[Array, Array]:
    """Wilson's 95 % interval of a share of n rows, which is never empty, even at 0 and 1."""
    middle = (share + Z**2 / (2 * n)) / (1 + Z**2 / n)
    half = Z * np.sqrt(share * (1 - share) / n + Z**2 / (4 * n**2)) / (1 + Z**2 / n)
    return np.maximum(middle - half, 0.0), np.minimum(middle + half, 1.0)


def number_reliability(prediction: Array, truth: Array) -> pd.DataFrame:
    """Mean prediction and mean truth in at most ten equal bins of the prediction, with a 95 % interval of the latter.

    One row tells nothing of its spread: there the interval is NaN.
    """
    bins = _by_bin(pd.DataFrame({"prediction": prediction, "truth": truth}), "prediction")
    means, half = bins.mean(), Z * bins["truth"].sem()
    ends = {"low": means["truth"] - half, "high": means["truth"] + half}
    return pd.DataFrame({"n": bins.size(), **means, **ends}).reset_index(drop=True)


def confidence_counts(proba: Array, truth: Array) -> pd.DataFrame:
    """How many rows have which confidence: each bar's ends, low and high, and its rows that are right and wrong."""
    confidence, is_right = proba.max(1), proba.argmax(1) == truth
    edges = np.linspace(0, 1, BARS + 1)
    right, wrong = (np.histogram(confidence[which], edges)[0] for which in (is_right, ~is_right))
    return pd.DataFrame({"low": edges[:-1], "high": edges[1:], "right": right, "wrong": wrong})


# Estimates of information


@torch.no_grad()
def realised(
    model: Model, rows: Rows, y: Array, budget: float, costs: Costs = None, which: Tensor | None = None
) -> pd.DataFrame:
    """What each question on the greedy path up to a budget promised, and what its answer brought.

    which: positions of rows (default: all). One record a question: row, step (from 1), asked, predicted (its estimated
    information), largest (the largest estimate of any open group), loss_reduction; of classes also entropy, that of
    the prediction before asking, and entropy_reduction. Losses are cross entropy in nats, or squared errors.
    Information is never negative, so an estimate below 0 promises 0, as in `acquisition.price`, which chooses.
    """
    chosen = torch.arange(len(rows)) if which is None else which
    prices = model.cost_tensor(model.costs(costs))
    n_groups = len(prices)
    answers = model.task.encode(y)
    parts = []
    for start in range(0, len(chosen), 4096):
        some = chosen[start : start + 4096]
        batch, target = model.place(rows.take(some)), answers[some].to(model.device)
        states: dict[str, list[Array]] = {}
        for step in walk(model.running_policy, batch, prices, n_groups + 1, Budget(budget)):
            assert step.belief.scores is not None
            scores = step.belief.scores.clamp_min(0)
            found = {
                "asks": step.can_ask,
                "group": step.choice,
                "predicted": scores.gather(1, step.choice[:, None])[:, 0],
                "largest": scores.masked_fill(~step.open, 0).max(1).values,
                "loss": model.task.loss(step.belief.outputs, target),
            }
            if isinstance(model.task, Classification):
                found["entropy"] = entropy(step.belief.outputs)
            for name, values in found.items():
                states.setdefault(name, []).append(values.cpu().numpy())
            if not bool(step.can_ask.any()):
                break
        parts.append(_records({name: np.stack(v) for name, v in states.items()}, some.numpy(), model))
    return pd.concat(parts, ignore_index=True)


def _records(states: dict[str, Array], rows: Array, model: Model) -> pd.DataFrame:
    """One record for each question that was asked, row by row, from states (steps + 1, rows)."""
    position, step = np.nonzero(states["asks"][:-1].T)
    at, after = (step, position), (step + 1, position)
    names = np.array(model.schema.space.names, dtype=object)
    table = {"row": rows[position], "step": step + 1, "asked": names[states["group"][at]]}
    table |= {name: states[name][at] for name in ("predicted", "largest", "entropy") if name in states}
    for name in ("loss", "entropy"):
        if name in states:
            table[f"{name}_reduction"] = states[name][at] - states[name][after]
    return pd.DataFrame(table)


def realised_bins(questions: pd.DataFrame) -> pd.DataFrame:
    """Questions in at most ten equal bins of what they promised: n, mean predicted and reductions, standard errors."""
    if questions.empty:
        return pd.DataFrame()
    reductions = [name for name in ("loss_reduction", "entropy_reduction") if name in questions]
    found = []
    for _, part in _by_bin(questions, "predicted"):
        record: dict[str, float] = {"n": len(part), "predicted": part["predicted"].mean()}
        for name in reductions:
            mean = part[name].mean()
            record |= {name: mean, f"{name}_error": _error(part[name] - mean, part["row"], len(part))}
        found.append(record)
    return pd.DataFrame(found)


def _error(residuals: pd.Series[Any], rows: pd.Series[Any], over: float) -> float:
    """The standard error of an estimate whose deviation is the sum of the residuals divided by `over`.

    Questions of one row are not independent, so the sums of whole rows are counted. One row tells nothing: NaN.
    """
    of_rows = residuals.groupby(rows).sum().to_numpy()
    if len(of_rows) < 2 or over == 0:
        return np.nan
    return float(np.sqrt((of_rows**2).sum() * len(of_rows) / (len(of_rows) - 1)) / over)


def estimates_summary(questions: pd.DataFrame) -> dict[str, float]:
    """Realised over predicted, the slope of one on the other, each with its error, and the share above H(y|x_S).

    Realised over predicted is the mean reduction of loss over the mean estimate: below 1, estimates promise too much.
    The slope is that of a line through both: below 1, large estimates are too large beside small ones. The share, of
    classes only, is that of the moments in which the largest estimate is above the entropy of the prediction, which
    no information can exceed.
    """
    predicted, brought, rows = (questions[name] for name in ("predicted", "loss_reduction", "row"))
    away = predicted - predicted.mean()
    total, spread = float(predicted.sum()), float((away**2).sum())
    ratio = float(brought.sum()) / total if total else np.nan
    slope = float((away * brought).sum()) / spread if spread else np.nan
    numbers = {
        "realised_over_predicted": ratio,
        "realised_over_predicted_error": _error(brought - ratio * predicted, rows, total),
        "slope": slope,
        "slope_error": _error(away * (brought - brought.mean() - slope * away), rows, spread),
    }
    if "entropy" in questions:
        numbers["share_above_entropy"] = float((questions["largest"] > questions["entropy"]).mean())
    return numbers
