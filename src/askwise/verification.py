"""A trained model against the truth: its estimates, choices and predictions on a distribution that is known."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from askwise.acquisition import Step, walk
from askwise.data.synthetic import Distribution
from askwise.features import Rows
from askwise.model import Model
from askwise.tasks import Task

Array = np.ndarray[Any, Any]

# Groups that tell less than this share of all that is unknown have no order worth keeping: in nats for classes (of
# the unit of the loss, 1 nat), in parts of the variance for numbers.
WORTH_RANKING = 0.005


@dataclass(frozen=True)
class Comparison:
    """Estimates beside the truth, along the path that the trained policy takes.

    estimated, exact (steps, rows, groups): information, NaN where a group is not open. choice (steps, rows), -1 where
    nothing was left. divergence (steps + 1, rows): KL(exact || predicted), or the squared distance of the predictions.
    scores: accuracy, or RMSE, after each number of questions, of the trained and of the exact greedy policy.
    """

    task: Task
    costs: Array
    estimated: Array
    exact: Array
    choice: Array
    divergence: Array
    scores: pd.DataFrame

    @property
    def chosen(self) -> pd.DataFrame:
        """One record for each question asked: step, group, estimated and exact information, regret."""
        asked = self.choice >= 0
        step, row = np.nonzero(asked)
        group = self.choice[asked]
        exact = self.exact[step, row, group]
        # What the money of this question would have told, spent at the best exact rate.
        best = np.nanmax(np.where(np.isnan(self.exact), -np.inf, self.exact / self.costs), axis=2)[asked]
        regret = best * self.costs[group] - exact
        return pd.DataFrame(
            {
                "step": step,
                "row": row,
                "group": group,
                "estimated": self.estimated[step, row, group],
                "exact": exact,
                "regret": regret,
            }
        )

    def figures(self) -> dict[str, float]:
        """The summary: mean errors, rank correlation, regret and divergence, in nats or in squared units of y."""
        chosen = self.chosen
        open_ = ~np.isnan(self.exact)
        estimated, exact = self.estimated[open_], self.exact[open_]
        worth = exact > WORTH_RANKING * self.task.unit
        paid = chosen["exact"] > WORTH_RANKING * self.task.unit
        off = np.abs(chosen["estimated"] - chosen["exact"])
        return {
            "error_chosen": float(off.mean()),
            "error_open": float(np.abs(estimated - exact).mean()),
            "relative_error_chosen": float((off[paid] / chosen["exact"][paid]).mean()),
            "rank_correlation": rank_correlation(estimated[worth], exact[worth]),
            "regret": float(chosen["regret"].mean()),
            "divergence": float(self.divergence.mean()),
        }


def compare(model: Model, truth: Distribution, n_rows: int, seed: int) -> Comparison:
    """Walk the trained policy over fresh rows, and ask the truth at every step."""
    frame, y = truth.sample(n_rows, seed)
    rows = model.place(model.schema.encode(frame))
    exact_rows = truth.schema.encode(frame).to("cpu", torch.float64)
    prices = model.cost_tensor(model.costs(None))
    estimated, exact, choice, divergence, outputs = [], [], [], [], []
    with torch.no_grad():
        steps = list(walk(model.running_policy, rows, prices, truth.n_steps + 1))
        for step in steps:
            known = truth.policy.mask(step.known, exact_rows.present)
            belief = truth.policy(exact_rows.x, known)
            assert belief.scores is not None
            predicted = _in_units_of(truth.task, model.task, step.belief.outputs)
            outputs.append(predicted)
            divergence.append(_divergence(truth.task, belief.outputs, predicted))
            estimated.append(_of_open(step, step.belief.scores))
            exact.append(_of_open(step, belief.scores))
            choice.append(torch.where(step.can_ask, step.choice, -1))
    n = truth.n_steps
    return Comparison(
        truth.task,
        np.array(model.costs(None)),
        torch.stack(estimated[:n]).numpy(),
        torch.stack(exact[:n]).numpy(),
        torch.stack(choice[:n]).numpy(),
        torch.stack(divergence).numpy(),
        _scores(truth, outputs, _greedy_outputs(truth, exact_rows), y),
    )


def _greedy_outputs(truth: Distribution, rows: Rows) -> list[Tensor]:
    costs = torch.tensor(truth.schema.space.costs, dtype=torch.float64)
    with torch.no_grad():
        return [step.belief.outputs for step in walk(truth.policy, rows, costs, truth.n_steps + 1)]


def _of_open(step: Step, scores: Tensor | None) -> Tensor:
    assert scores is not None
    return scores.masked_fill(~step.open, torch.nan)


def _in_units_of(truth: Task, trained: Task, outputs: Tensor) -> Tensor:
    """The trained model's outputs as the truth writes them: numbers as differences from the true mean."""
    if truth.kind == "classification":
        return torch.log_softmax(outputs, -1)
    return torch.from_numpy(trained.decode(outputs))[:, None]


def _divergence(task: Task, exact: Tensor, predicted: Tensor) -> Tensor:
    if task.kind == "classification":
        return (exact.exp() * (exact - predicted)).sum(-1)
    return (exact - predicted)[:, 0] ** 2


def _scores(truth: Distribution, trained: list[Tensor], exact: list[Tensor], y: Array) -> pd.DataFrame:
    answer = truth.task.encode(y)

    def score(outputs: Tensor) -> float:
        if truth.task.kind == "classification":
            return float((outputs.argmax(1) == answer).double().mean())
        return math.sqrt(float(((outputs[:, 0] - answer) ** 2).mean()))

    return pd.DataFrame(
        {"questions": range(len(trained)), "trained": map(score, trained), "exact_greedy": map(score, exact)}
    )


def rank_correlation(a: Array, b: Array) -> float:
    """Spearman's: the correlation of ranks, ties sharing theirs."""
    return float(pd.Series(a).corr(pd.Series(b), method="spearman")) if len(a) > 1 else math.nan
