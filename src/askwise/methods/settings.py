"""Settings of an estimator: its constructor's arguments, made from fields, and as JSON in a model's file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, dataclass_transform

import numpy as np
import pandas as pd
from torch import nn

from askwise.core.stopping import Rule
from askwise.data.tables.questions import plain_questions

# Settings that do not change what is to be learnt: neither part of a run's fingerprint nor of a model's file.
CIRCUMSTANCES = ("checkpoint_dir", "device")

# Settings of the trained model, which training does not see: no part of a run's fingerprint.
LATER = ("stop", "questions")

# Settings that the first files did not have, with their defaults: they are kept only if they are others.
NEWER = {"questions": None, "categories": None, "missing": "auto"}

Estimator = TypeVar("Estimator")


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
def with_settings(estimator: type[Estimator]) -> type[Estimator]:
    """Make the constructor of an estimator from its fields, those of its bases first. It stores them, and no more."""
    return dataclass(kw_only=True, eq=False, repr=False)(estimator)


def settings_as_json(estimator: object, names: Iterable[str]) -> dict[str, Any]:
    """The settings of these names as JSON can hold them, without the circumstances."""
    settings = {name: getattr(estimator, name) for name in names if name not in CIRCUMSTANCES}
    # Without these a file is as it was before there were any, and older programs can read it.
    return {name: _as_json(name, value) for name, value in settings.items() if not _is_unused(name, value)}


def _is_unused(name: str, value: Any) -> bool:
    """Whether this is a newer setting that was left at its default; a value may be a table, which == compares."""
    return name in NEWER and (value is None or isinstance(value, str)) and value == NEWER[name]


def _as_json(name: str, value: Any) -> Any:
    """A setting as JSON can hold it."""
    if hasattr(value, "plain"):
        return value.plain()
    if isinstance(value, nn.Module):
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
