"""Every baseline by its name."""

from __future__ import annotations

from askwise.studies.compare.baselines.baseline import Baseline
from askwise.studies.compare.baselines.boosting import Boosting
from askwise.studies.compare.baselines.linear import Linear

BASELINES: dict[str, type[Baseline]] = {"boosting-best-k": Boosting, "linear-lasso": Linear}
