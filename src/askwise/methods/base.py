"""The bases of every method: an estimator with two hooks, as a classifier or a regressor."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import torch
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, column_or_1d

from askwise.core.arrays import Array
from askwise.core.errors import AskwiseError, AskwiseWarning
from askwise.core.features import FeatureSpace
from askwise.core.moved import keep_old_names
from askwise.core.policy import Policy
from askwise.core.rows import Rows, to_device_if_fits
from askwise.core.step import StoppingRule
from askwise.core.stopping import check_rule
from askwise.core.tasks import Classification, Regression, Task
from askwise.data.tables.gaps_wording import warning_text
from askwise.data.tables.schema import Schema
from askwise.evaluation import frontier
from askwise.methods.card import make_card
from askwise.methods.fingerprint import fingerprint
from askwise.methods.plain_target import plain_target
from askwise.methods.preparation import Prepared, prepare
from askwise.methods.settings import LATER, with_settings
from askwise.methods.trained import TrainedEstimator
from askwise.model.model import Model
from askwise.model.prior import Prior
from askwise.model.session_model import Costs
from askwise.training.checkpoint import Checkpoint
from askwise.training.devices import pick_device
from askwise.training.draws import seeded_rng
from askwise.training.loop import Progress, Training
from askwise.training.modes import threads
from askwise.training.weights import StateWeights

__all__ = ["ClassifierMethod", "Method", "RegressorMethod", "with_settings"]


@with_settings
class Method(TrainedEstimator):
    """A scikit-learn estimator with two hooks: `build` a policy, and `train` it.

    Subclasses declare their settings as fields, under the decorator `with_settings`, and set `registry_name`. What it
    learns from, a table or images, is a third: `inputs` and `schema_of`.
    """

    # Goes up when this method alone is trained another way.
    revision: ClassVar[int] = 1
    # In training on a CPU; None: as many as torch has. Small networks lose time, and repeatability, to a second one.
    cpu_threads: ClassVar[int | None] = 1

    costs: Costs = None
    validation_fraction: float = 0.2
    random_state: Any = None
    checkpoint_dir: str | Path | None = None
    device: str = "auto"

    def schema_of(self, inputs: Any) -> Schema:
        """What can be asked, read from the inputs to learn from."""
        raise NotImplementedError

    def fit_encoding(self, schema: Schema, task: Task, train: Rows) -> Schema:
        """The schema, with what the rows to learn from say about how values are best read."""
        del task, train
        return schema

    def with_evidence(self, schema: Schema, gaps: Array) -> Schema:
        """The schema in which gaps are evidence, if they are; gaps (columns,): which columns some rows lack."""
        del gaps
        return schema

    def make_task(self, y: Array, weights: Array | None = None) -> Task:
        """What is predicted, read from the target; weights: of the rows, (rows,), None if all are equal."""
        del y, weights
        raise AskwiseError(
            f"{type(self).__name__} does not say what it predicts; inherit from ClassifierMethod or RegressorMethod too"
        )

    def inference_device(self, device: torch.device) -> str:
        """Where a trained model runs, on a machine that trains on this device; a loaded one too."""
        del device
        return "cpu"

    def build(self, space: FeatureSpace, task: Task) -> Policy:
        """A fresh policy for these groups and this task."""
        raise NotImplementedError

    def state_weights(self, data: Prepared) -> StateWeights:
        """How much a state counts in a loss."""
        del data
        return StateWeights()

    def facts_of_gaps(self, data: Prepared, training: Training) -> dict[str, Any]:
        """What a model's card tells of gaps, beside what they told."""
        del data, training
        return {}

    def train(self, policy: Policy, training: Training, task: Task) -> None:
        """Train the policy, stage by stage."""
        raise NotImplementedError

    def after_training(self, policy: Policy) -> None:
        """Called once after the last stage."""

    def check_settings(self) -> None:
        """Raise a clear error for settings that can't be."""

    def check_target(self, y: Any) -> Array:
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        values = column_or_1d(plain_target(y), warn=True)
        missing = int(pd.isna(values).sum())
        if missing:
            raise AskwiseError(f"the target is missing in {missing} rows (NaN or None); drop those rows")
        assert_all_finite(values, input_name="y")
        return values

    def fit(
        self,
        X: Any,
        y: Any,
        eval_set: tuple[Any, ...] | None = None,
        split_by: Any = None,
        progress: Callable[[Progress], None] | None = None,
        sample_weight: Any = None,
    ) -> Any:
        """Learn from past records. Missing values are allowed: what is missing can't be asked in that row.

        eval_set: rows to validate on, (X, y) or (X, y, sample_weight), else `validation_fraction` of X is held out,
        stratified; split_by: one value a row, or the name of a column of X that is not a feature; rows with the same
        value stay on the same side.
        sample_weight: how much each row counts, in what is learnt and on the validation rows. Rows of weight 0 are left
        out; only the weights' relative sizes matter.
        progress: called after each epoch, and every two seconds within a long one.
        """
        started = time.perf_counter()
        self.check_settings()
        data = prepare(self, X, y, eval_set, split_by, sample_weight)
        told_by_gaps = warning_text(data.gaps, getattr(self, "missing", "ignore"))
        if told_by_gaps:
            warnings.warn(told_by_gaps, AskwiseWarning, stacklevel=2)
        model, training = self.train_model(data, progress)
        model.card = make_card(model, data, training, time.perf_counter() - started) | self.facts_of_gaps(
            data, training
        )
        self.set_model(model)
        return self

    def train_model(self, data: Prepared, progress: Callable[[Progress], None] | None = None) -> tuple[Model, Training]:
        """Build a policy, train it on its device, and compute its frontier on the validation rows."""
        device = pick_device(self.device)
        on_device = torch.cuda.device(device) if device.type == "cuda" else nullcontext()
        with on_device, threads(self.cpu_threads if device.type == "cpu" else None), seeded_rng(device, data.seed):
            policy = self.build(data.schema.space, data.task)
            if self.stop is not None:
                check_rule(self.stop, data.task, policy)
            checkpoint = self._checkpoint(policy, data)
            policy.to(device)
            weights = self.state_weights(data).to(device)
            train = to_device_if_fits(weights.rows_with_tries(data.train), device)
            val = weights.rows_with_tries(data.val).to(device)
            training = Training(policy, train, val, data.seed, checkpoint, progress, weights=weights)
            self.train(policy, training, data.task)
            self.after_training(policy)
            model = Model(data.schema, data.task, policy.to("cpu").eval(), device=str(device))
            frontier.keep_frontier(model, data.val, data.val_answers, states=weights.to(torch.device("cpu")))
        return replace(model, device=self.inference_device(device)), training

    def _checkpoint(self, policy: Policy, data: Prepared) -> Checkpoint | None:
        if self.checkpoint_dir is None:
            return None
        settings = {name: value for name, value in self.plain_settings().items() if name not in LATER}
        # Texts and limits may change; the order of choices may not, and the columns have it.
        name = self.registry_name or type(self).__name__
        facts = [name, self.revision, settings, data.schema.training_facts(), data.task.to_dict(), data.seed]
        checkpoint = Checkpoint(Path(self.checkpoint_dir), fingerprint(policy, facts, data.train, data.val))
        checkpoint.tidy()
        return checkpoint


@with_settings
class ClassifierMethod(ClassifierMixin, Method):
    """A method whose answer is one of several labels."""

    classes_: Array = field(init=False)

    class_weights: Mapping[Any, float] | str | None = None

    def check_target(self, y: Any) -> Array:
        values = super().check_target(y)
        check_classification_targets(values)
        return values

    def make_task(self, y: Array, weights: Array | None = None) -> Task:
        classes, code, counts = np.unique(y, return_inverse=True, return_counts=True)
        if len(y) < 2:
            raise AskwiseError(f"n_samples={len(y)}: at least 2 rows are needed")
        if len(classes) < 2:
            raise AskwiseError(
                f"the target has one class only, {classes.tolist()[0]!r}, in all {len(y)} rows; "
                "there is nothing to learn"
            )
        if len(y) < 2 * len(classes):
            raise AskwiseError(
                f"the target has {len(classes)} classes in {len(y)} rows; at least 2 rows for each class are needed. "
                "To predict a number, use a regressor"
            )
        counts = counts if weights is None else np.bincount(code, weights, len(classes))
        return Classification(tuple(classes.tolist()), self._weights(classes, counts))

    def _weights(self, classes: Array, counts: Array) -> tuple[float, ...] | None:
        given = self.class_weights
        if given is None:
            return None
        if isinstance(given, str):
            if given != "balanced":
                raise AskwiseError(
                    f"class_weights takes 'balanced' or a mapping of label to weight, was given {given!r}"
                )
            return tuple((counts.sum() / (len(classes) * counts)).tolist())
        unknown = [label for label in given if label not in classes.tolist()]
        if unknown:
            raise AskwiseError(f"class_weights names {unknown[0]!r}, which is no label; labels: {classes.tolist()!r}")
        weights = tuple(float(given.get(label, 1.0)) for label in classes.tolist())
        if not all(np.isfinite(w) and w > 0 for w in weights):
            raise AskwiseError(f"class_weights must be above 0, was given {dict(given)!r}")
        return weights

    def set_model(self, model: Model) -> None:
        super().set_model(model)
        assert isinstance(model.task, Classification)
        self.classes_ = np.array(model.task.labels)

    def predict_proba(
        self, X: Any, stop: StoppingRule | None = None, costs: Costs = None, prior: Prior = None
    ) -> Array:
        """Probabilities of the labels where the rule stops; without a rule, from everything that is available.

        prior: the prevalence of labels, if it is another than in training; labels that are not named share the rest.
        """
        return self._answer(X, stop, costs, prior)

    def predict(self, X: Any, stop: StoppingRule | None = None, costs: Costs = None, prior: Prior = None) -> Array:
        """The likeliest label where the rule stops; without a rule, from everything that is available.

        prior: as for predict_proba.
        """
        proba = self.predict_proba(X, stop, costs, prior)
        return self.classes_[proba.argmax(1)]


@with_settings
class RegressorMethod(RegressorMixin, Method):
    """A method whose answer is a number."""

    def check_target(self, y: Any) -> Array:
        values = super().check_target(y)
        try:
            return values.astype(np.float64)
        except (TypeError, ValueError):
            held = values.tolist()[0]
            raise AskwiseError(f"the target must be numbers to predict a number; it holds {held!r}") from None

    def make_task(self, y: Array, weights: Array | None = None) -> Task:
        if len(y) < 2:
            raise AskwiseError(f"n_samples={len(y)}: at least 2 rows are needed")
        center = float(np.average(y, weights=weights))
        scale = float(y.std()) if weights is None else float(np.average((y - center) ** 2, weights=weights) ** 0.5)
        if scale <= 1e-12 * float(np.abs(y).max()):
            raise AskwiseError(f"the target is {float(y[0])!r} in all {len(y)} rows; there is nothing to learn")
        return Regression(center, scale)

    def predict(self, X: Any, stop: StoppingRule | None = None, costs: Costs = None) -> Array:
        """The expected answer where the rule stops; without a rule, from everything that is available."""
        return self._answer(X, stop, costs)


keep_old_names(__name__)
