"""What methods that learn from tables share: columns laid out in groups, and multilayer perceptrons over them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_array, validate_data
from torch import nn

from askwise.core.arrays import Array
from askwise.core.errors import AskwiseError, unknown_name
from askwise.core.features import FeatureSpace
from askwise.core.policy import Policy
from askwise.core.rows import Rows
from askwise.core.tasks import Classification, Task
from askwise.data.tables.column import NUMBER
from askwise.data.tables.questions import QuestionSpec
from askwise.data.tables.schema import Schema
from askwise.methods.base import with_settings
from askwise.methods.checks import check_whole, check_whole_or_named, check_whole_or_none
from askwise.methods.gap_correction import MISSING, facts_of_gaps, groups_to_correct
from askwise.methods.neural import PRETRAIN_UPDATES, NeuralMethod
from askwise.methods.preparation import Prepared
from askwise.methods.training_table import TrainingTable
from askwise.model.model import Model
from askwise.networks.dropout import set_dropout
from askwise.networks.encoding import InputEncoding
from askwise.networks.mlp import Mlp, MlpTrunk
from askwise.networks.pair import SeparateNetworks, SharedNetworks
from askwise.networks.pair_policy import PairPolicy
from askwise.training.devices import pick_device
from askwise.training.gap_weights import GapWeights
from askwise.training.loop import Training
from askwise.training.schedule import NARROW, dropout_for, hidden_for, longer_for
from askwise.training.update import Plan
from askwise.training.weights import StateWeights

ENCODINGS = ("auto", "raw")
# In a table of more columns, numbers are left as they are: with parts, there would be too many inputs.
MOST_COLUMNS_IN_PARTS = 128


@with_settings
class TableMethod(NeuralMethod):
    """A method on the rows of a table, which may have holes."""

    revision = 2
    # Whether its losses take answers as shares of labels.
    learns_softly: ClassVar[bool] = True
    # By default, as many rows as there are suit; before any are seen, few.
    _width: int = field(default=NARROW, init=False)

    groups: Mapping[str, Sequence[Any]] | None = None
    free: Sequence[Any] | None = None
    questions: QuestionSpec | None = None
    categories: Sequence[Any] | None = None
    missing: str = "auto"
    encoding: str | int = "auto"
    screening: bool = True
    soft_answers: bool = True
    base_rates: bool = True
    hidden: int | None = None
    layers: int = 2
    dropout: float | None = None

    def check_settings(self) -> None:
        super().check_settings()
        check_whole_or_none("hidden", self.hidden)
        check_whole("layers", self.layers)
        if self.missing not in MISSING:
            raise unknown_name("setting of missing:", self.missing, MISSING)
        if self.encoding not in ENCODINGS:
            check_whole_or_named("encoding", self.encoding, ENCODINGS, least=2)
        if self.dropout is not None and not 0 <= self.dropout < 1:
            raise AskwiseError(f"dropout must lie in [0, 1), was given {self.dropout!r}")

    def state_weights(self, data: Prepared) -> StateWeights:
        names = groups_to_correct(self.missing, data.gaps)
        return GapWeights.fit(data.schema.space, data.task, names, data.train) if names else StateWeights()

    def facts_of_gaps(self, data: Prepared, training: Training) -> dict[str, Any]:
        return facts_of_gaps(self.missing, data, training.weights)

    def inputs(self, X: Any, reset: bool = False) -> pd.DataFrame:
        """The inputs as a DataFrame whose columns have names, checked as scikit-learn does."""
        if not isinstance(X, pd.DataFrame) and hasattr(X, "to_pandas"):
            X = X.to_pandas()
        if not isinstance(X, pd.DataFrame):
            checked = check_array(X, dtype=None, ensure_all_finite="allow-nan", estimator=self)
            X = pd.DataFrame(list(X)) if isinstance(X, list) and checked.dtype.kind in "US" else pd.DataFrame(checked)
        validate_data(self, X, reset=reset, skip_check_array=True)
        if not len(X) or not X.shape[1]:
            raise AskwiseError(f"the table has {len(X)} rows and {X.shape[1]} columns; at least one of each is needed")
        if not hasattr(self, "feature_names_in_"):
            X = X.set_axis([f"x{i}" for i in range(X.shape[1])], axis=1)
        return X

    @property
    def width(self) -> int:
        """The width of the hidden layers."""
        return self.hidden or self._width

    def settled(self, model: Model) -> dict[str, Any]:
        return super().settled(model) | {"hidden": self.width}

    def schema_of(self, inputs: pd.DataFrame) -> Schema:
        self._width = hidden_for(len(inputs), inputs.shape[1], pick_device(self.device).type)
        return Schema.of(
            inputs,
            named=hasattr(self, "feature_names_in_"),
            costs=self.costs,
            groups=self.groups,
            free=self.free,
            questions=self.questions,
            categories=self.categories,
        )

    def with_evidence(self, schema: Schema, gaps: Array) -> Schema:
        if self.missing != "evidence":
            return schema
        asked = np.array(schema.space.group_of_column) >= 0
        return schema.with_presence(np.flatnonzero(gaps & asked).tolist())

    @property
    def reads_parts(self) -> bool:
        """Whether the networks can read a number in parts."""
        return True

    def fit_encoding(self, schema: Schema, task: Task, train: Rows) -> Schema:
        n_parts = None if isinstance(self.encoding, str) else self.encoding
        if self.encoding == "raw" or (n_parts is None and not self._takes_parts(schema)):
            return schema
        is_number = np.zeros(schema.space.n_columns, dtype=bool)
        is_number[: len(schema.columns)] = [column.kind == NUMBER for column in schema.columns]
        return schema.with_edges(TrainingTable(schema.space, task, train).edges(is_number, n_parts))

    def _takes_parts(self, schema: Schema) -> bool:
        return self.reads_parts and len(schema.columns) <= MOST_COLUMNS_IN_PARTS

    def network(self, space: FeatureSpace, n_outputs: int) -> Mlp:
        """A network on (x, mask), of the size that the settings say."""
        return Mlp(InputEncoding(space), self.width, n_outputs, self.layers, self.dropout or 0.0)

    def pair(
        self, space: FeatureSpace, task: Task, share_trunk: bool = False, n_scores: int | None = None
    ) -> SeparateNetworks | SharedNetworks:
        """A predictor and a network with a score for each group, apart or on one trunk."""
        n_scores = n_scores or space.n_groups
        if share_trunk:
            trunk = MlpTrunk(InputEncoding(space), self.width, self.layers, self.dropout or 0.0)
            head = nn.Linear(self.width, n_scores)
            return SharedNetworks(trunk, nn.Linear(self.width, task.n_outputs), head)
        scores = self.network(space, n_scores)
        return SeparateNetworks(self.network(space, task.n_outputs), scores)

    def pretraining(self, training: Training, epochs: int | None) -> Plan:
        return self.plan(training, round(PRETRAIN_UPDATES * longer_for(len(training.train))), epochs)

    def before_training(self, policy: Policy, training: Training) -> None:
        """Before the first stage: dropout for the number of rows, if it is ours to set."""
        super().before_training(policy, training)
        if self.dropout is None:
            set_dropout(policy, dropout_for(len(training.train)))
        if isinstance(policy, PairPolicy):
            self.look_at_rows(policy, training)
        if self.base_rates and isinstance(policy, PairPolicy) and policy.first_layers:
            rows = training.train.in_memory()
            assert rows.y is not None
            policy.set_base_rate(policy.task.base_outputs(rows.y, rows.weight))

    def look_at_rows(self, policy: PairPolicy, training: Training) -> None:
        """Find out what columns tell by themselves, and less noisy answers to learn from, if the settings say so."""
        softly = self.soft_answers and self.learns_softly
        if training.weights.differ_by_answer and not isinstance(policy.task, Classification):
            # A mean of numbers does not say how much each of them would count.
            softly = False
        if not (self.screening or softly):
            return
        selective = training.weights.selective_groups
        table = TrainingTable(policy.space, policy.task, training.train.in_memory(), selective)
        if self.screening:
            self.start_from(policy, table)
        if softly and table.rows.soft_y is None:
            training.train = table.with_soft_answers(training.seed)

    def start_from(self, policy: PairPolicy, table: TrainingTable) -> None:
        """Let networks learn slowly from what tells little by itself, if the rows are few for so many columns."""
        gain = table.gain().to(policy.temperature.device)
        for part in policy.modules():
            if isinstance(part, InputEncoding) and part.n_inputs == len(gain):
                part.gain = gain

    def after_training(self, policy: Policy) -> None:
        super().after_training(policy)
        for part in policy.modules():
            if isinstance(part, MlpTrunk):
                part.fold_gain()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags
