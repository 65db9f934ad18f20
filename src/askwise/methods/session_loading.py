"""Loading a model to ask with: without torch if its file says how."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from askwise.core.step import StoppingRule
from askwise.model import file, numpy_model
from askwise.model.description import contents_facts
from askwise.model.session_model import SessionModel


@dataclass(frozen=True)
class LoadedModel:
    """A model that sessions run on, the rule it was trained with, and its description as JSON.

    estimator: the whole estimator, if the model needs torch; else None.
    """

    model_: SessionModel
    stop: StoppingRule | None
    facts: dict[str, Any]
    estimator: Any = None


def load_for_sessions(path: str | Path) -> LoadedModel:
    """Load a model from its file. One of plain perceptrons runs in numpy: torch takes seconds to import."""
    contents = file.read(path)
    if not numpy_model.can_load(contents):
        from askwise.methods.loading import estimator_of
        from askwise.training.devices import pick_device

        estimator = estimator_of(path, contents, pick_device("auto"))
        return LoadedModel(estimator.model_, estimator.stop, contents_facts(contents), estimator)
    with file.telling_of_damage(path):
        return LoadedModel(numpy_model.of_contents(contents), contents.stop, contents_facts(contents))
