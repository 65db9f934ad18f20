"""A trained model against the truth: its estimates, choices and predictions on a distribution that is known."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from askwise.core.arrays import Array
from askwise.core.errors import AskwiseError, OutOfRangeWarning, listed
from askwise.core.prices import Prices
from askwise.core.rows import Rows
from askwise.core.step import Step
from askwise.core.tasks import Regression, Task
from askwise.core.walk import walk
from askwise.data.synthetic import Distribution
from askwise.evaluation.metrics import METRICS, coded
from askwise.model.model import Model

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
        rates = np.where(np.isnan(self.exact), -np.inf, self.exact / self.costs)[asked]
        best = rates.argmax(1)
        # What the best question tells, less what its price buys at the rate of the one that was asked.
        regret = (rates.max(1) - exact / self.costs[group]) * self.costs[best]
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
        """The summary: mean errors, regret and divergence, in nats or in squared units of y, and two of the order.

        rank_correlation: of ranks over all pairs of a moment and a group that is worth ranking. order: how often of two
        such groups, open at the same moment, the estimates put the better one first; a coin would have 0.5.
        """
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
            "order": self._order(),
            "regret": float(chosen["regret"].mean()),
            "divergence": float(self.divergence.mean()),
        }

    def _order(self) -> float:
        """The share of pairs of groups in the right order, over all moments; pairs that differ by less don't count."""
        least = WORTH_RANKING * self.task.unit
        right, pairs = 0, 0
        with np.errstate(invalid="ignore"):
            for a, b in combinations(range(self.exact.shape[2]), 2):
                apart = self.exact[..., a] - self.exact[..., b]
                counted = np.abs(apart) > least
                agree = np.sign(apart) == np.sign(self.estimated[..., a] - self.estimated[..., b])
                right, pairs = right + int((agree & counted).sum()), pairs + int(counted.sum())
        return right / pairs if pairs else math.nan


def compare(model: Model, truth: Distribution, n_rows: int, seed: int) -> Comparison:
    """Walk the trained policy over fresh rows, and ask the truth at every step.

    The model must have been trained on rows of `truth`, with its `settings`.
    """
    _check_same(model, truth, n_rows)
    frame, y = truth.sample(n_rows, seed)
    with warnings.catch_warnings():
        # Fresh rows go further than those of training now and then.
        warnings.simplefilter("ignore", OutOfRangeWarning)
        rows = model.place(model.schema.encode(frame))
        exact_rows = truth.schema.encode(frame).to("cpu", torch.float64)
    prices = model.prices(model.costs(None))
    estimated, exact, choice, divergence, outputs = [], [], [], [], []
    with torch.no_grad():
        for step in walk(model.running_policy, rows, prices, truth.n_steps + 1):
            known = truth.policy.mask(step.known.cpu(), exact_rows.present)
            belief = truth.policy(exact_rows.x, known)
            assert belief.scores is not None
            predicted = _in_units_of(truth.task, model.task, step.belief.outputs.cpu())
            outputs.append(predicted)
            divergence.append(_divergence(truth.task, belief.outputs, predicted))
            estimated.append(_of_open(step, step.belief.scores))
            exact.append(_of_open(step, belief.scores))
            choice.append(torch.where(step.can_ask, step.choice, -1).cpu())
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


def _check_same(model: Model, truth: Distribution, n_rows: int) -> None:
    """A clear error where a model was trained on something else."""
    if n_rows < 1:
        raise AskwiseError(f"n_rows must be at least 1, was given {n_rows!r}")
    if not isinstance(model, Model):
        raise AskwiseError(
            f"give the model of a fitted estimator, estimator.model_; was given a {type(model).__name__}"
        )
    for what, of_model, of_truth in (
        ("questions", model.schema.space.names, truth.schema.space.names),
        ("costs", model.schema.space.costs, truth.schema.space.costs),
        ("labels", getattr(model.task, "labels", ()), getattr(truth.task, "labels", ())),
    ):
        if of_model != of_truth:
            raise AskwiseError(
                f"the model was not trained on this distribution: its {what} are {listed(of_model)}, the "
                f"distribution's {listed(of_truth)}; fit an estimator with **distribution.settings on its samples"
            )


def _greedy_outputs(truth: Distribution, rows: Rows) -> list[Tensor]:
    prices = Prices.tensor(truth.schema.space.costs)
    with torch.no_grad():
        return [step.belief.outputs for step in walk(truth.policy, rows, prices, truth.n_steps + 1)]


def _of_open(step: Step, scores: Tensor | None) -> Tensor:
    assert scores is not None
    return scores.cpu().masked_fill(~step.open.cpu(), torch.nan)


def _in_units_of(truth: Task, trained: Task, outputs: Tensor) -> Tensor:
    """The trained model's outputs as the truth writes them: numbers as differences from the true mean."""
    if truth.kind == "classification":
        return torch.log_softmax(outputs, -1)
    assert isinstance(truth, Regression)
    return torch.from_numpy(trained.decode(outputs))[:, None] - truth.center


def _divergence(task: Task, exact: Tensor, predicted: Tensor) -> Tensor:
    if task.kind == "classification":
        return (exact.exp() * (exact - predicted)).sum(-1)
    return (exact - predicted)[:, 0] ** 2


def _scores(truth: Distribution, trained: list[Tensor], exact: list[Tensor], y: Array) -> pd.DataFrame:
    """The first metric of the task, accuracy or RMSE, after each number of questions."""
    metric = next(iter(METRICS[truth.task.kind].values()))
    answer, ones = coded(truth.task, y), np.ones((1, len(y)))

    def scores(outputs: list[Tensor]) -> list[float]:
        return [float(metric(truth.task.decode(each), answer, ones)[0]) for each in outputs]

    return pd.DataFrame({"questions": range(len(trained)), "trained": scores(trained), "exact_greedy": scores(exact)})


def rank_correlation(a: Array, b: Array) -> float:
    """Spearman's: the correlation of ranks, ties sharing theirs."""
    return float(pd.Series(a).corr(pd.Series(b), method="spearman")) if len(a) > 1 else math.nan
