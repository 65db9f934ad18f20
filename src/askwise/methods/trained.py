"""What an estimator does with its trained model: acquire, predict, curve, session, save."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import torch
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from askwise.core.arrays import Array
from askwise.core.errors import AskwiseError, AskwiseWarning
from askwise.core.row_weights import check_row_weights
from askwise.core.rows import Rows
from askwise.core.step import StoppingRule
from askwise.data.tables.gaps import flagged_gaps, gaps_table
from askwise.data.tables.split import of_kept_rows
from askwise.evaluation import curves, frontier
from askwise.evaluation.intervals import person_numbers
from askwise.evaluation.reweighted import weights_against_gaps, with_answers
from askwise.methods.settings import LATER, settings_as_json, with_settings
from askwise.model import file as bundle
from askwise.model import onnx as export
from askwise.model.model import Acquisition, Model
from askwise.model.prior import Prior
from askwise.model.session_model import Costs
from askwise.session.session import Session


@with_settings
class TrainedEstimator(BaseEstimator):
    """An estimator's use of `model_`, which `fit` or `load` sets."""

    # The name in `methods.registry`, by which a file names its method; it ends in -classifier or -regressor.
    registry_name: ClassVar[str] = ""
    model_: Model = field(init=False)
    settings_: dict[str, Any] = field(init=False)
    # Settings that were left to the data, as they were settled.
    settled_: dict[str, Any] = field(init=False)
    n_features_in_: int = field(init=False)

    stop: StoppingRule | None = None

    def inputs(self, X: Any, reset: bool = False) -> Any:
        """What was given to learn or predict from, checked, as a schema takes it; `reset` where it is the first."""
        del X, reset
        raise AskwiseError(
            f"{type(self).__name__} does not say what it learns from; inherit from TableMethod or ImageMethod too"
        )

    def check_target(self, y: Any) -> Array:
        """The target as an array, or scikit-learn's error."""
        raise NotImplementedError

    def set_model(self, model: Model) -> None:
        """Use this trained or loaded model from now on."""
        self.model_ = model
        self.settings_ = self.plain_settings()
        self.settled_ = self.settled(model)

    def settled(self, model: Model) -> dict[str, Any]:
        """Settings that were left to the data and shape the policy, as they are in this model."""
        del model
        return {}

    @property
    def settings_of_model(self) -> dict[str, Any]:
        """What the model was made with, whatever has been set since, but for what training does not see."""
        made_with = {name: value for name, value in self.settings_.items() if name not in LATER}
        return made_with | settings_as_json(self, [name for name in LATER if hasattr(self, name)])

    def plain_settings(self) -> dict[str, Any]:
        """The constructor's arguments, as JSON can hold them."""
        return settings_as_json(self, self.get_params(deep=False))

    def encode(self, X: Any) -> Rows:
        """The inputs as the model's functions take them, after the estimator's checks."""
        return self._rows(X)[0]

    def _rows(self, X: Any) -> tuple[Rows, Any]:
        check_is_fitted(self, "model_")
        inputs = self.inputs(X)
        return self.model_.schema.encode(inputs), getattr(inputs, "index", None)

    def _rows_and_answers(self, X: Any, y: Any, sample_weight: Any) -> tuple[Rows, Array, Array | None]:
        """Rows with weights and their answers; rows of weight 0 are left out.

        The third tells which of the rows that were given are kept, a bool each; None if all are.
        """
        rows, _ = self._rows(X)
        answers = self.check_target(y)
        check_consistent_length(rows.x, answers)
        weights = check_row_weights(sample_weight, len(rows))
        if weights is None:
            return rows, answers, None
        kept = weights > 0
        return rows.take(torch.from_numpy(kept.nonzero()[0])).with_weight(weights[kept]), answers[kept], kept

    def _rule(self, stop: StoppingRule | None) -> StoppingRule | None:
        return self.stop if stop is None else stop

    def _answer(self, X: Any, stop: StoppingRule | None, costs: Costs, prior: Prior = None) -> Array:
        """Decoded outputs of each row, where the rule stops it."""
        rows, index = self._rows(X)
        rule = self._rule(stop)
        if rule is None:
            return self.model_.task.decode(self.model_.outputs(rows, prior))
        acquired = self.model_.acquire(rows, rule, costs, index, prior)
        answer = acquired.prediction if acquired.proba is None else acquired.proba
        assert answer is not None
        return answer

    def acquire(
        self, X: Any, stop: StoppingRule | None = None, costs: Costs = None, prior: Prior = None
    ) -> Acquisition:
        """Ask each row's best questions until the rule stops it; a missing value in X can't be had.

        prior: the prevalence of labels, if it is another than in training; it moves predictions, and rules that look at
        them. Questions and values stay.
        """
        rows, index = self._rows(X)
        return self.model_.acquire(rows, self._rule(stop), costs, index, prior)

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
        sample_weight: Any = None,
        reweighted: bool = False,
        split_by: Any = None,
    ) -> pd.DataFrame:
        """Every metric against mean cost, for every rule; `bootstrap` draws add 95 % intervals.

        sample_weight: how much each row counts, in metrics and mean costs. reweighted: rows are weighed so that it says
        nothing which groups were recorded, of those whose gaps told the answer in training. split_by: one value a row,
        such as its person; the intervals are then those of drawing persons again, not rows.
        """
        rows, answers, kept = self._rows_and_answers(X, y, sample_weight)
        by = None if split_by is None else of_kept_rows(split_by, len(answers), kept)
        persons = None if by is None else person_numbers(by, len(answers))
        rows = with_answers(self.model_, rows, answers) if reweighted else rows
        states = weights_against_gaps(self.model_, rows) if reweighted else None
        if reweighted and states is None:
            _warn_of_nothing_to_weigh(self.model_)
        return curves.curve(self.model_, rows, answers, costs, points, bootstrap, progress, states, persons)

    def frontier(self, X: Any, y: Any, costs: Costs = None, sample_weight: Any = None) -> pd.DataFrame:
        """What each average cost brings on rows of your own; AverageCost uses it from now on under these costs.

        sample_weight: how much each row counts.
        """
        rows, answers, _ = self._rows_and_answers(X, y, sample_weight)
        return frontier.keep_frontier(self.model_, rows, answers, costs).copy()

    @property
    def frontier_(self) -> pd.DataFrame:
        """What each average cost brings on the validation rows, and by which rule, under the costs of training."""
        check_is_fitted(self, "model_")
        return self.model_.frontier().copy()

    @property
    def gaps_(self) -> pd.DataFrame:
        """What it tells about the answer that a group was recorded, for each group that some rows have and others not.

        Columns: those of `GroupGaps`, most information first. Empty for a model of earlier versions.
        """
        check_is_fitted(self, "model_")
        return gaps_table(self.model_.gaps)

    def session(
        self,
        stop: StoppingRule | None = None,
        known: Mapping[str, Any] | None = None,
        costs: Costs = None,
        prior: Prior = None,
    ) -> Session:
        """A live conversation about one case; `known` gives the values of free columns.

        prior: the prevalence of labels, if it is another than in training.
        """
        check_is_fitted(self, "model_")
        return Session(self.model_, self._rule(stop), costs, known, prior)

    def save(self, path: str | Path) -> None:
        """Write the model to one file, whole or not at all."""
        check_is_fitted(self, "model_")
        if not self.registry_name:
            raise AskwiseError(
                f"{type(self).__name__} has no registry_name, by which a file names its method; set one, such as "
                "'my-classifier', and add it to METHODS in methods/registry.py, so that the file can be loaded"
            )
        facts = {"name": self.registry_name, "settings": self.settings_of_model, "settled": self.settled_}
        bundle.write(path, self.model_, facts)

    def export_onnx(self, path: str | Path) -> None:
        """Write one ONNX graph (x, mask, costs) -> (prediction, values), which runs without torch and askwise.

        It takes rows as `encode` gives them, as float32, in batches of any size. Its metadata tell how to encode one
        and name its groups. `values` has every group, also those that are known or can't be had: choose among the open
        ones.
        """
        check_is_fitted(self, "model_")
        export.write(path, self.model_)


def _warn_of_nothing_to_weigh(model: Model) -> None:
    if flagged_gaps(model.gaps) or model.card.get("corrected"):
        reason = (
            "each of the groups whose gaps told the answer in training was recorded in all of these rows, or in none"
        )
    else:
        reason = "no group's gaps told the answer in training"
    warnings.warn(f"the curve is not reweighted: {reason}", AskwiseWarning, stacklevel=3)


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
