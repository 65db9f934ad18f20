"""What DIME's ways of training are worth: each tried on tables, and on distributions whose answers are known."""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import torch
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.model_selection import train_test_split
from torch import Tensor
from torch.nn import functional as F

from askwise import Budget, DimeClassifier, DimeRegressor
from askwise.core.belief import Belief
from askwise.core.features import FeatureSpace
from askwise.core.policy import Policy
from askwise.core.rows import Rows
from askwise.core.tasks import Classification, Task, entropy
from askwise.core.walk import walk
from askwise.data.synthetic import DISTRIBUTIONS
from askwise.evaluation.known_truth import compare
from askwise.evaluation.metrics import expected_calibration_error
from askwise.methods.dime.base import Dime
from askwise.methods.dime.objectives import JointObjective, ValueWarmUp
from askwise.methods.dime.policy import DimePolicy
from askwise.networks.dropout import set_dropout
from askwise.training.loop import Training, evaluating, frozen, threads
from askwise.training.objectives import random_step
from askwise.training.schedule import FEWEST_EPOCHS, patience_for
from askwise.training.update import Objective, Plan
from common import Table, cpu_seconds, write_results

DATA = ("digits", "cube:750", "cube:800", "network:1000", "tests:1000", "gaussian:1000", "heart", "breast", "diabetes")
FIGURES = ("score", "loss", "ece", "realised", "error_open", "relative_error_chosen", "CPU s")
QUESTIONS, ECE_AFTER = 20, 10
FRESH_ROWS, FRESH_SEED, FIRST_SEED = 2000, 99, 1000


@dataclass(frozen=True)
class Variant:
    """What is changed against today's training; as it stands, nothing.

    targets: of the value network: "loss", the fall of the loss, without dropout; "noisy", the same with dropout;
    "divergence", of the prediction after an answer from that before; "mean" of the first and the third. updates: of
    every stage, however few rows there are. factor: one on all estimates, from validation rows. refit: updates of
    the value network on the policy's own path at the end. judge_values: the best epoch has the lowest loss plus
    squared error of the values. patience=False: no stage stops early.
    """

    targets: str = "loss"
    dropout: float | None = None
    value_dropout: float | None = None
    updates: int | None = None
    temperature: bool = True
    factor: bool = False
    refit: int = 0
    judge_values: bool = False
    averaging: float = 0.99
    patience: bool = True


CLEAN = Variant(dropout=0.3, updates=1700, temperature=False)
BOTH = Variant(judge_values=True)
VARIANTS = {
    "today": Variant(),
    # How today's way came about.
    "before": replace(CLEAN, targets="noisy"),
    "targets without dropout": CLEAN,
    "and temperature": replace(CLEAN, temperature=True),
    "and dropout 0.2": replace(CLEAN, dropout=0.2),
    "and dropout 0.1": replace(CLEAN, dropout=0.1),
    "and no dropout": replace(CLEAN, dropout=0.0),
    "and 300 updates": replace(CLEAN, updates=300),
    # What was tried beside it.
    "divergence": replace(CLEAN, targets="divergence"),
    "mean of loss and divergence": replace(CLEAN, targets="mean"),
    "refit": replace(CLEAN, temperature=True, refit=600),
    "divergence and refit": replace(CLEAN, targets="divergence", temperature=True, refit=600),
    "factor": replace(CLEAN, temperature=True, factor=True),
    "factor, dropout 0.2": replace(CLEAN, temperature=True, factor=True, dropout=0.2),
    "factor, dropout 0.1": replace(CLEAN, temperature=True, factor=True, dropout=0.1),
    "factor, 300 updates": replace(CLEAN, temperature=True, factor=True, updates=300),
    "factor, 300 updates, dropout 0.1": replace(CLEAN, temperature=True, factor=True, updates=300, dropout=0.1),
    "factor, 100 updates": replace(CLEAN, temperature=True, factor=True, updates=100),
    "dropout 0.1 of values only": replace(CLEAN, value_dropout=0.1),
    "dropout 0.1 of predictions only": replace(CLEAN, dropout=0.1, value_dropout=0.3),
    "today, values judged": BOTH,
    "today, values judged, 1700 updates": replace(BOTH, updates=1700),
    "today, values judged, averaging 0.998": replace(BOTH, averaging=0.998),
    "today, values judged, no patience": replace(BOTH, patience=False),
    "today, values judged, divergence": replace(BOTH, targets="divergence"),
}


def gains(kind: str, task: Task, outputs: Tensor, y: Tensor, n_states: int) -> Tensor:
    """What each state is worth after the one before, (states - 1, batch), from outputs (states * batch, outputs)."""
    losses = task.loss(outputs, y).view(n_states, -1)
    fall = losses[:-1] - losses[1:]
    if kind in ("loss", "noisy"):
        return fall
    states = outputs.view(n_states, -1, outputs.shape[1])
    if isinstance(task, Classification):
        log_p = F.log_softmax(states, -1)
        divergence = (log_p[1:].exp() * (log_p[1:] - log_p[:-1])).sum(-1)
    else:
        divergence = (states[1:] - states[:-1])[..., 0] ** 2
    return divergence if kind == "divergence" else (divergence + fall) / 2


class VariedWarmUp(ValueWarmUp):
    """Other targets; for the mean, too, those of the divergence."""

    def __init__(self, usual: ValueWarmUp, kind: str) -> None:
        super().__init__(usual.policy, usual.task)
        self.kind = "divergence" if kind == "mean" else kind

    def errors(self, rows: Rows) -> Tensor:
        known, choice, asked, known_next = random_step(rows.available)
        mask = self.policy.mask(known, rows.present)
        with torch.no_grad(), evaluating(self.policy):
            masks = (mask, self.policy.mask(known_next, rows.present))
            outputs = torch.cat([self.policy(rows.x, m, scores=False).outputs for m in masks])
        gain = gains(self.kind, self.task, outputs, rows.y.repeat(2), 2)[0]
        score = self.policy(rows.x, mask).scores.gather(1, choice[:, None])[:, 0]
        return ((score - gain) / self.task.unit) ** 2 * asked


class VariedJoint(JointObjective):
    """Other targets, and another judge of epochs."""

    def __init__(self, usual: JointObjective, variant: Variant) -> None:
        super().__init__(usual.policy, usual.task, usual.costs, usual.n_steps, usual.epsilon, usual.rows_per_update)
        self.variant = variant

    def _gains(self, belief: Belief, used: Tensor, y: Tensor, n_states: int) -> Tensor:
        outputs = belief.outputs.detach() if self.variant.targets == "noisy" else used
        return gains(self.variant.targets, self.task, outputs, y, n_states)

    def validate(self, rows: Rows) -> Tensor:
        loss = super().validate(rows)
        if not self.variant.judge_values:
            return loss
        said, came, asked = along_path(self.policy, self.task, rows, self.costs, self.n_steps)
        return loss + (((said - came) / self.task.unit) ** 2 * asked).mean()


class OwnPath(VariedJoint):
    """Episodes as they will be walked: without dropout, and as many random questions to the end."""

    def _states(self, rows: Rows, epsilon: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        with evaluating(self.policy):
            return super()._states(rows, torch.full_like(epsilon, self.epsilon))


@torch.no_grad()
def along_path(policy: Policy, task: Task, rows: Rows, costs: Tensor, n_steps: int) -> tuple[Tensor, Tensor, Tensor]:
    """Estimated gain, gain of the loss, and whether a question was asked, (steps, rows), on the greedy path."""
    steps = list(walk(policy, rows, costs, n_steps + 1))
    said = torch.stack([step.belief.scores.gather(1, step.choice[:, None])[:, 0] for step in steps[:-1]])
    losses = torch.stack([task.loss(step.belief.outputs, rows.y) for step in steps])
    return said, losses[:-1] - losses[1:], torch.stack([step.can_ask for step in steps[:-1]])


def fit_factor(said: Tensor, came: Tensor, asked: Tensor, spread: float = 0.3) -> float:
    """The slope of what came on what was said, drawn towards 1 as far as rows leave it open."""
    said, came = said * asked, came * asked
    square = max(float((said**2).sum()), 1e-12)
    slope = float((said * came).sum()) / square
    # Steps of one row are no separate evidence.
    variance = float((((came - slope * said) * said).sum(0) ** 2).sum()) / square**2
    return (slope * spread**2 + variance) / (spread**2 + variance)


class VariedPolicy(DimePolicy):
    """A policy whose estimates take one factor more."""

    factor = 1.0

    def _scale(self, raw: Tensor, outputs: Tensor) -> Tensor:
        scores = super()._scale(raw, outputs) * self.factor
        return torch.minimum(scores, entropy(outputs.detach())[:, None]) if self.scaling == "bounded" else scores


@dataclass
class VariedTraining(Training):
    """The stages that DIME asks for, changed as a variant says."""

    variant: Variant = field(default_factory=Variant)

    def stage(self, name: str, objective: Objective, plan: Plan) -> None:
        if isinstance(objective, ValueWarmUp):
            objective = VariedWarmUp(objective, self.variant.targets)
        elif isinstance(objective, JointObjective):
            objective = VariedJoint(objective, self.variant)
        if self.variant.updates is not None:
            plan = self._lasting(self.variant.updates, plan)
        patience = plan.patience if self.variant.patience else None
        plan = replace(plan, patience=patience, averaging=self.variant.averaging)
        self.last = objective, plan
        super().stage(name, objective, plan)

    def refit(self) -> None:
        """The value network once more, on the policy's own path."""
        joint, plan = self.last
        plan = replace(self._lasting(self.variant.refit, plan), patience=None, keep_best=False)
        super().stage("refit", OwnPath(joint, self.variant), plan)

    def _lasting(self, updates: int, plan: Plan) -> Plan:
        epochs = max(FEWEST_EPOCHS, math.ceil(updates / math.ceil(len(self.train) / plan.batch_size)))
        return replace(plan, epochs=epochs, patience=None if plan.patience is None else patience_for(epochs))


class Varied(Dime):
    """DIME, trained as a variant says."""

    variant = Variant()

    def build(self, space: FeatureSpace, task: Task) -> Policy:
        return VariedPolicy(space, task, self._networks(space, task), self.scaling)

    def train(self, policy: Policy, training: Training, task: Task) -> None:
        if self.variant.value_dropout is not None:
            set_dropout(policy.networks.value, self.variant.value_dropout)
        varied = VariedTraining(**vars(training), variant=self.variant)
        super().train(policy, varied, task)
        if not self.variant.temperature:
            policy.temperature.fill_(1.0)
        if self.variant.factor:
            joint, _ = varied.last
            policy.factor = fit_factor(*along_path(policy, task, training.val, joint.costs, joint.n_steps))
        if self.variant.refit:
            with frozen(policy.networks.predictor_parts):
                varied.refit()


class VariedClassifier(Varied, DimeClassifier):
    """Of labels."""


class VariedRegressor(Varied, DimeRegressor):
    """Of numbers."""


def load(folder: Path, name: str, seed: int) -> tuple[Any, Any, Any, Any, Any]:
    """Rows and answers to train, a set to validate on or None, and rows and answers to test."""
    if name == "digits":
        data = np.load(folder / "digits_split.npz")
        x, y, x_val, y_val, x_test, y_test = (data[f"{a}_{s}"] for s in ("train", "val", "test") for a in ("X", "y"))
        return x, y, (x_val, y_val), x_test, y_test
    if name == "heart":
        x = pd.read_csv(folder / "heart_cleveland.csv.gz")
        y = x.pop("diameter narrowing").to_numpy()
    else:
        x, y = {"breast": load_breast_cancer, "diabetes": load_diabetes}[name](return_X_y=True)
    stratify = y if name != "diabetes" else None
    x, x_test, y, y_test = train_test_split(x, y, test_size=0.3, random_state=seed, stratify=stratify)
    return x, y, None, x_test, y_test


def on_table(model: Dime, x: Any, y: Any) -> dict[str, float]:
    """score: mean accuracy after 1 to 10 questions; loss: after 0 to 20, in its natural unit; ece: after 10;
    realised: how far the loss fell, against what was estimated."""
    task, n_groups = model.model_.task, model.model_.schema.space.n_groups
    n_steps = min(n_groups, QUESTIONS)
    trace = model.model_.trace(model.encode(x), [Budget(n_steps)], model.model_.costs(None))
    truth = task.encode(np.asarray(y))
    losses = [float(task.loss(outputs, truth).mean()) / task.unit for outputs in trace.outputs[: n_steps + 1]]
    estimated = float(trace.best[:n_steps].clamp_min(0).mean(1).sum()) / task.unit
    figures = {"loss": float(np.mean(losses)), "realised": (losses[0] - losses[-1]) / estimated}
    if isinstance(task, Classification):
        hits = [float((outputs.argmax(1) == truth).double().mean()) for outputs in trace.outputs[1:11]]
        proba = task.decode(trace.outputs[min(ECE_AFTER, n_steps)])
        ece = expected_calibration_error(proba, truth.numpy(), np.ones((1, len(truth))))
        figures |= {"score": float(np.mean(hits)), "ece": float(ece[0])}
    return figures


def run(folder: Path, variant: Variant, data: str, seed: int) -> dict[str, float]:
    """The figures of one training; "cube:750" is 750 rows of a distribution whose answers are known."""
    name, _, n_rows = data.partition(":")
    if n_rows:
        truth = DISTRIBUTIONS[name]()
        settings, is_regression = truth.settings, truth.task.kind == "regression"
        (x, y), val = truth.sample(int(n_rows), FIRST_SEED + seed), None
    else:
        x, y, val, x_test, y_test = load(folder, name, seed)
        settings, is_regression = {"max_steps": QUESTIONS if name == "digits" else None}, name == "diabetes"
    method = VariedRegressor if is_regression else VariedClassifier
    model = method(**settings, dropout=variant.dropout, random_state=seed, device="cpu")
    model.variant = variant
    with threads(1):
        _, seconds = cpu_seconds(lambda: model.fit(x, y, eval_set=val))
        if n_rows:
            comparison = compare(model.model_, truth, FRESH_ROWS, FRESH_SEED)
            figures = comparison.figures() | {"score": float(comparison.scores["trained"].iloc[1:11].mean())}
        else:
            figures = on_table(model, x_test, y_test)
    return {**figures, "CPU s": seconds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="folder with digits_split.npz and heart_cleveland.csv.gz")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", nargs="+", choices=VARIANTS, default=list(VARIANTS), help="variants, all by default")
    parser.add_argument("--data", nargs="+", default=DATA, help="digits, heart, breast, diabetes or distribution:rows")
    parser.add_argument("--updates", type=int, help="of every stage, to see whether all runs through")
    parser.add_argument("--jobs", type=int, default=-1, help="processes, as many as cores by default")
    parser.add_argument("--out", default="benchmarks/out")
    args = parser.parse_args()
    chosen = {n: replace(VARIANTS[n], updates=args.updates) if args.updates else VARIANTS[n] for n in args.only}
    work = (
        joblib.delayed(run)(args.folder, variant, data, seed)
        for data, variant, seed in product(args.data, chosen.values(), range(args.seeds))
    )
    found = joblib.Parallel(n_jobs=args.jobs, batch_size=1, return_as="generator")(work)
    table = Table(["data", "variant", *FIGURES])
    runs = []
    for data, name in product(args.data, chosen):
        of_seeds = [next(found) for _ in range(args.seeds)]
        mean = pd.DataFrame(of_seeds).mean()
        table.add([data, name, *(float(mean[f]) if f in mean else "–" for f in FIGURES)])
        runs += [{"data": data, "variant": name, "seed": seed, **figures} for seed, figures in enumerate(of_seeds)]
    print(table)
    write_results(args.out, "ablation", table, runs=runs)


if __name__ == "__main__":
    main()
