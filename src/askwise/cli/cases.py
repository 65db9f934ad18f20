"""What `askwise train` learns from, as it is read: a table or images, and how to go on with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, eq=False)
class Cases:
    """Past cases with their answers.

    task: "classification" or "regression"; inputs: "table" or "image"; asked: the settings of an estimator that say
    what can be asked; card: what the model keeps about them; left_out: cases without an answer.
    """

    X: Any
    y: Any
    task: str
    asked: Mapping[str, Any]
    card: Mapping[str, Any]
    inputs: str = "table"
    split_by: Any = None
    left_out: int = 0
    # What to give to `askwise ask` beside a rule, and to `askwise evaluate`: for the commands to try next.
    to_ask: Sequence[object] = ()
    to_evaluate: Sequence[object] = field(default=("test.csv",))
