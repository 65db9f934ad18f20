"""The estimator that every method is: fit, acquire, predict, curve, session, save."""

from __future__ import annotations

import hashlib
import json
import platform
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, TypeVar, dataclass_transform

import numpy as np
import pandas as pd
import safetensors.torch
import torch
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    assert_all_finite,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
)

from askwise._version import __version__
from askwise.core.arrays import Array
from askwise.core.errors import AskwiseError
from askwise.core.features import FeatureSpace
from askwise.core.policy import Policy
from askwise.core.rows import Rows
from askwise.core.step import StoppingRule
from askwise.core.stopping import Rule, check_rule
from askwise.core.tasks import Classification, Regression, Task
from askwise.data.tables.questions import plain_questions
from askwise.data.tables.schema import Schema
from askwise.data.tables.split import hold_out
from askwise.evaluation import curves, frontier, metrics
from askwise.model import file as bundle
from askwise.model import onnx as export
from askwise.model.model import Acquisition, Costs, Model
from askwise.session.session import Session
from askwise.training.checkpoint import Checkpoint
from askwise.training.draws import own_draws
from askwise.training.loop import Progress, Training, placed, threads

# Settings that do not change what is to be learnt: neither part of a run's fingerprint nor of a bundle.
CIRCUMSTANCES = ("checkpoint_dir", "device")

# Settings of the trained model, which training does not see: no part of a run's fingerprint.
LATER = ("stop", "questions")

# Goes up when training changes, so that nothing is taken up again that was begun another way.
TRAINING = 2

# Enough for early stopping and a frontier; more rows held out would only cost time.
MOST_VALIDATION_ROWS = 20_000


Estimator = TypeVar("Estimator")


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
def with_settings(estimator: type[Estimator]) -> type[Estimator]:
    """Make the constructor of an estimator from its fields, those of its bases first. It stores them, and no more."""
    return dataclass(kw_only=True, eq=False, repr=False)(estimator)


@with_settings
class Method(BaseEstimator):
    """A scikit-learn estimator with two hooks: `build` a policy, and `train` it.

    Subclasses declare their settings as fields, under the decorator `with_settings`, and set `registry_name`. What it
    learns from, a table or images, is a third: `inputs` and `schema_of`.
    """

    registry_name: ClassVar[str]
    # Goes up when this method alone is trained another way.
    revision: ClassVar[int] = 1
    # In training on a CPU; None: as many as torch has. Small networks lose time, and repeatability, to a second one.
    cpu_threads: ClassVar[int | None] = 1
    model_: Model = field(init=False)
    settings_: dict[str, Any] = field(init=False)
    n_features_in_: int = field(init=False)

    costs: Costs = None
    stop: StoppingRule | None = None
    validation_fraction: float = 0.2
    random_state: Any = None
    checkpoint_dir: str | Path | None = None
    device: str = "auto"

    def inputs(self, X: Any, reset: bool = False) -> Any:
        """What was given to learn or predict from, checked, as a schema takes it; `reset` where it is the first."""
        raise NotImplementedError

    def schema_of(self, inputs: Any) -> Schema:
        """What can be asked, read from the inputs to learn from."""
        raise NotImplementedError

    def place_of_use(self, device: torch.device) -> str:
        """Where a trained model runs, on a machine that trains on this device; a loaded one too."""
        del device
        return "cpu"

    def build(self, space: FeatureSpace, task: Task) -> Policy:
        """A fresh policy for these groups and this task."""
        raise NotImplementedError

    def train(self, policy: Policy, training: Training, task: Task) -> None:
        """Train the policy, stage by stage."""
        raise NotImplementedError

    def check_settings(self) -> None:
        """Raise a clear error for settings that can't be."""

    def make_task(self, y: Array) -> Task:
        raise NotImplementedError

    def check_target(self, y: Any) -> Array:
        """The target as an array, or scikit-learn's error."""
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        values = column_or_1d(y, warn=True)
        missing = pd.isna(values) if values.dtype == object else np.zeros(len(values), dtype=bool)
        if missing.any():
            raise AskwiseError(f"the target is missing in {int(missing.sum())} rows; drop those rows")
        assert_all_finite(values, input_name="y")
        return values

    def fit(
        self,
        X: Any,
        y: Any,
        eval_set: tuple[Any, Any] | None = None,
        split_by: Any = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> Any:
        """Learn from past records. Missing values are allowed: what is missing can't be asked in that row.

        eval_set: rows to validate on, else `validation_fraction` of X is held out, stratified; split_by: one value a
        row, or the name of a column of X that is not a feature; rows with the same value stay on the same side.
        progress: called after each epoch, and every two seconds within a long one.
        """
        started = time.perf_counter()
        self.check_settings()
        X, split_by = _without_split_column(X, split_by)
        inputs = self.inputs(X, reset=True)
        answers = self.check_target(y)
        check_consistent_length(inputs, answers)
        schema = self.schema_of(inputs)
        task = self.make_task(answers)
        rows = _with_answers(schema.encode(inputs), task, answers)
        seed = self._seed(rows)
        train, val, val_answers = self._split(schema, task, rows, answers, eval_set, split_by, seed)
        device = pick_device(self.device)
        on_device = torch.cuda.device(device) if device.type == "cuda" else nullcontext()
        with on_device, threads(self.cpu_threads if device.type == "cpu" else None), own_draws(device, seed):
            policy = self.build(schema.space, task)
            if self.stop is not None:
                check_rule(self.stop, task, policy)
            checkpoint = self._checkpoint(schema, task, policy, train, val, seed)
            policy.to(device)
            training = Training(policy, placed(train, device), val.to(device), seed, checkpoint, progress)
            self.train(policy, training, task)
            model = Model(schema, task, policy.to("cpu").eval(), device=str(device))
            frontier.keep_frontier(model, val, val_answers)
            model = replace(model, device=self.place_of_use(device))
        model.card = self._card(model, training, train, val, val_answers, time.perf_counter() - started)
        self.adopt(model)
        return self

    def _seed(self, rows: Rows) -> int:
        if self.random_state is None and self.checkpoint_dir is not None:
            # A run that is to go on must draw the same again: its seed comes from the data.
            return int.from_bytes(_digest(rows).digest()[:4]) % (2**31 - 1)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _split(
        self, schema: Schema, task: Task, rows: Rows, y: Array, eval_set: Any, split_by: Any, seed: int
    ) -> tuple[Rows, Rows, Array]:
        if eval_set is not None:
            val_inputs, val_y = self.inputs(eval_set[0]), self.check_target(eval_set[1])
            check_consistent_length(val_inputs, val_y)
            metrics.coded(task, val_y)
            return rows, _with_answers(schema.encode(val_inputs), task, val_y), val_y
        by = None if split_by is None else np.asarray(split_by)
        stratify = isinstance(task, Classification)
        train, val = hold_out(y, self.validation_fraction, seed, stratify, by)
        if len(val) > MOST_VALIDATION_ROWS and by is None:
            train, val = np.concatenate([train, val[MOST_VALIDATION_ROWS:]]), val[:MOST_VALIDATION_ROWS]
        return rows.take(torch.from_numpy(train)), rows.take(torch.from_numpy(val)), y[val]

    def _checkpoint(
        self, schema: Schema, task: Task, policy: Policy, train: Rows, val: Rows, seed: int
    ) -> Checkpoint | None:
        if self.checkpoint_dir is None:
            return None
        settings = {name: value for name, value in self.plain_settings().items() if name not in LATER}
        method = [self.registry_name, self.revision, settings]
        # The order of choices stays: the columns have it.
        table = {name: value for name, value in schema.to_dict().items() if name != "wording"}
        facts = [__version__, TRAINING, *method, table, task.to_dict(), seed]
        digest = _digest(train, val)
        digest.update(json.dumps(facts, sort_keys=True, default=str).encode())
        # Modules of the user's own start from weights that no setting tells.
        digest.update(safetensors.torch.save({k: v.contiguous().clone() for k, v in policy.state_dict().items()}))
        checkpoint = Checkpoint(Path(self.checkpoint_dir), digest.hexdigest()[:16])
        checkpoint.tidy()
        return checkpoint

    def _card(
        self, model: Model, training: Training, train: Rows, val: Rows, val_answers: Array, seconds: float
    ) -> dict[str, Any]:
        everything = model.task.decode(model.outputs(val))
        return {
            "askwise": __version__,
            "torch": torch.__version__,
            "python": platform.python_version(),
            "rows_trained": len(train),
            "rows_validated": len(val),
            "seconds": round(seconds, 1),
            "epochs": {s: sum(h["stage"] == s for h in training.history) for s in training.stages},
            "validation": metrics.metrics(model.task, everything, metrics.coded(model.task, val_answers)),
        }

    def adopt(self, model: Model) -> None:
        """Make a trained or loaded model this estimator's own."""
        self.model_ = model
        self.settings_ = self.plain_settings()

    @property
    def settings_of_model(self) -> dict[str, Any]:
        """What the model was made with, whatever has been set since, but for what training does not see."""
        made_with = {name: value for name, value in self.settings_.items() if name not in LATER}
        return made_with | self._plain([name for name in LATER if hasattr(self, name)])

    def plain_settings(self) -> dict[str, Any]:
        """The constructor's arguments, as JSON can hold them."""
        return self._plain(self.get_params(deep=False))

    def _plain(self, names: Iterable[str]) -> dict[str, Any]:
        settings = {name: getattr(self, name) for name in names if name not in CIRCUMSTANCES}
        # Without questions a file is as it was before there were any, and older programs can read it.
        return {
            name: _plain(name, value) for name, value in settings.items() if name != "questions" or value is not None
        }

    def encode(self, X: Any) -> Rows:
        """The inputs as the model's functions take them, after the estimator's checks."""
        return self._rows(X)[0]

    def _rows(self, X: Any) -> tuple[Rows, Any]:
        check_is_fitted(self, "model_")
        inputs = self.inputs(X)
        return self.model_.schema.encode(inputs), getattr(inputs, "index", None)

    def _rule(self, stop: StoppingRule | None) -> StoppingRule | None:
        return self.stop if stop is None else stop

    def _answer(self, X: Any, stop: StoppingRule | None, costs: Costs) -> Array:
        """Decoded outputs of each row, where the rule stops it."""
        rows, index = self._rows(X)
        rule = self._rule(stop)
        if rule is None:
            return self.model_.task.decode(self.model_.outputs(rows))
        acquired = self.model_.acquire(rows, rule, costs, index)
        answer = acquired.prediction if acquired.proba is None else acquired.proba
        assert answer is not None
        return answer

    def acquire(self, X: Any, stop: StoppingRule | None = None, costs: Costs = None) -> Acquisition:
        """Ask each row's best questions until the rule stops it; a missing value in X can't be had."""
        rows, index = self._rows(X)
        return self.model_.acquire(rows, self._rule(stop), costs, index)

    def information(self, X_partial: Any, available: Any = None) -> pd.DataFrame:
        """Estimated information of every group that is not known yet, in nats (or squared units of y).

        Here NaN in X_partial means not known yet. Known groups give NaN, and so do groups that `available`, a table of
        bool with a column for each group, says can't be had.
        """
        rows, index = self._rows(X_partial)
        names = list(self.model_.schema.space.names)
        can = None if available is None else torch.from_numpy(_available(available, names, len(rows)))
        return pd.DataFrame(self.model_.information(rows, can), columns=names, index=index)

    def curve(
        self,
        X: Any,
        y: Any,
        costs: Costs = None,
        bootstrap: int = 0,
        points: int = 20,
        progress: Callable[[float], None] | None = None,
    ) -> pd.DataFrame:
        """Every metric against mean cost, for every rule; `bootstrap` draws add 95 % intervals."""
        rows, _ = self._rows(X)
        answers = self.check_target(y)
        check_consistent_length(rows.x, answers)
        return curves.curve(self.model_, rows, answers, costs, points, bootstrap, progress)

    def frontier(self, X: Any, y: Any, costs: Costs = None) -> pd.DataFrame:
        """Penalty against mean cost on rows of your own; AverageCost uses it from now on under these costs."""
        rows, _ = self._rows(X)
        answers = self.check_target(y)
        check_consistent_length(rows.x, answers)
        return frontier.keep_frontier(self.model_, rows, answers, costs).copy()

    @property
    def frontier_(self) -> pd.DataFrame:
        """Penalty, mean cost and metrics on the validation rows, under the costs of training."""
        check_is_fitted(self, "model_")
        return self.model_.frontier().copy()

    def session(
        self, stop: StoppingRule | None = None, known: Mapping[str, Any] | None = None, costs: Costs = None
    ) -> Session:
        """A live conversation about one case; `known` gives the values of free columns."""
        check_is_fitted(self, "model_")
        return Session(self.model_, self._rule(stop), costs, known)

    def save(self, path: str | Path) -> None:
        """Write the model to one file, whole or not at all."""
        check_is_fitted(self, "model_")
        facts = {"name": self.registry_name, "settings": self.settings_of_model}
        bundle.write(path, self.model_, facts)

    def export_onnx(self, path: str | Path) -> None:
        """Write one ONNX graph (x, mask, costs) -> (prediction, values), which runs without torch and askwise.

        It takes rows as `encode` gives them, as float32, in batches of any size. Its metadata tell how to encode one
        and name its groups. `values` has every group, also those that are known or can't be had: choose among the open
        ones.
        """
        check_is_fitted(self, "model_")
        export.write(path, self.model_)


@with_settings
class ClassifierMethod(ClassifierMixin, Method):
    """A method whose answer is one of several labels."""

    classes_: Array = field(init=False)

    class_weights: Mapping[Any, float] | str | None = None

    def check_target(self, y: Any) -> Array:
        values = super().check_target(y)
        check_classification_targets(values)
        return values

    def make_task(self, y: Array) -> Task:
        classes, counts = np.unique(y, return_counts=True)
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

    def adopt(self, model: Model) -> None:
        super().adopt(model)
        assert isinstance(model.task, Classification)
        self.classes_ = np.array(model.task.labels)

    def predict_proba(self, X: Any, stop: StoppingRule | None = None, costs: Costs = None) -> Array:
        """Probabilities of the labels where the rule stops; without a rule, from everything that is available."""
        return self._answer(X, stop, costs)

    def predict(self, X: Any, stop: StoppingRule | None = None, costs: Costs = None) -> Array:
        """The likeliest label where the rule stops; without a rule, from everything that is available."""
        proba = self.predict_proba(X, stop, costs)
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

    def make_task(self, y: Array) -> Task:
        if len(y) < 2:
            raise AskwiseError(f"n_samples={len(y)}: at least 2 rows are needed")
        scale = float(y.std())
        if scale <= 1e-12 * float(np.abs(y).max()):
            raise AskwiseError(f"the target is {float(y[0])!r} in all {len(y)} rows; there is nothing to learn")
        return Regression(float(y.mean()), scale)

    def predict(self, X: Any, stop: StoppingRule | None = None, costs: Costs = None) -> Array:
        """The expected answer where the rule stops; without a rule, from everything that is available."""
        return self._answer(X, stop, costs)


def pick_device(device: str) -> torch.device:
    """Where to train; 'auto' takes a GPU where there is one."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        place = torch.device(device)
    except (RuntimeError, TypeError):
        place = None
    if place is None or place.type not in ("cpu", "cuda"):
        raise AskwiseError(f"unknown device {device!r}; allowed: 'auto', 'cpu', 'cuda', 'cuda:1', ...")
    if place.type == "cuda" and not torch.cuda.is_available():
        raise AskwiseError(f"device {device!r} was asked for, and torch sees no GPU; use device='auto' or 'cpu'")
    return place


def _plain(name: str, value: Any) -> Any:
    """A setting as JSON can hold it."""
    if hasattr(value, "plain"):
        return value.plain()
    if isinstance(value, torch.nn.Module):
        return {"module": type(value).__name__}
    if name == "stop" and value is not None:
        return {"rule": str(value) if isinstance(value, Rule) else type(value).__name__}
    if name == "questions" and isinstance(value, Mapping):
        return plain_questions(value)
    if isinstance(value, Mapping):
        # Pairs, since the keys of a JSON object are texts and positions and labels need not be.
        return {"pairs": [[k, list(v) if isinstance(v, (tuple, np.ndarray)) else v] for k, v in value.items()]}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, (pd.Series, tuple)):
        return [v.item() if hasattr(v, "item") else v for v in value]
    if isinstance(value, np.generic):
        return value.item()
    return value if isinstance(value, (str, int, float, bool, list, type(None))) else None


def _digest(*tables: Rows) -> Any:
    """A hash of encoded rows and their answers."""
    digest = hashlib.sha256()
    for rows in tables:
        for part in (rows.x, rows.present, rows.y):
            assert part is not None
            digest.update(part.numpy().tobytes())
    return digest


def _with_answers(rows: Rows, task: Task, y: Array) -> Rows:
    return Rows(rows.x, rows.present, rows.available, task.encode(y))


def _without_split_column(X: Any, split_by: Any) -> tuple[Any, Any]:
    if not isinstance(split_by, str):
        return X, split_by
    if not isinstance(X, pd.DataFrame) or split_by not in X.columns:
        raise AskwiseError(f"split_by={split_by!r} is no column of X; give a column's name or one value for each row")
    return X.drop(columns=split_by), X[split_by].to_numpy()


def _available(available: Any, names: list[str], n_rows: int) -> Array:
    if isinstance(available, pd.DataFrame):
        missing = [n for n in names if n not in available.columns]
        if missing:
            raise AskwiseError(f"available has no column for the group {missing[0]!r}")
        available = available[names]
    can = np.array(available, dtype=bool)
    if can.shape != (n_rows, len(names)):
        raise AskwiseError(f"available has shape {can.shape}; give {n_rows} rows by {len(names)} groups")
    return can
