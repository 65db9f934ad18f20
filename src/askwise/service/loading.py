"""Loading a model from its file: the one place where the service decides how a model runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from askwise.core.step import StoppingRule
    from askwise.model.model import Model


@dataclass(frozen=True)
class LoadedModel:
    """What sessions run on, the rule the model was trained with, and its description as JSON."""

    model: Model
    stop: StoppingRule | None
    facts: dict[str, Any]


def load_model(path: Path) -> LoadedModel:
    # Imported here: torch takes seconds to load.
    from askwise.methods.registry import load
    from askwise.model.description import model_facts

    estimator = load(path)
    return LoadedModel(estimator.model_, estimator.stop, model_facts(estimator))
