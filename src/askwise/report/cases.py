"""The parts of a report about questions and single cases, whatever the kind of data."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd
from torch import Tensor

from askwise.core.arrays import Array
from askwise.core.costs import shared_facts
from askwise.core.errors import listed
from askwise.core.rows import Rows
from askwise.core.step import StoppingRule
from askwise.model.model import Acquisition, Model
from askwise.model.session_model import Costs
from askwise.report.page import Picture, escaped
from askwise.report.plots.style import number_text


@dataclass(frozen=True)
class AcquiredSample:
    """What a rule asked of the cases of a report, or of a sample of them where they are many.

    some: positions of the sample in rows and truth; acquired is about these. examples: positions in some, of a few
    cases to show. names: what each of the rows is called, such as its file; None where that is not known.
    """

    model: Model
    rows: Rows
    truth: Array
    costs: Costs
    some: Tensor
    rule_name: str
    rule: StoppingRule
    acquired: Acquisition
    examples: Array
    names: Sequence[str] | None = None


class Cases(ABC):
    """What a report tells of questions and of single cases."""

    def __init__(self, sample: AcquiredSample) -> None:
        self.sample = sample
        self.model = sample.model

    @abstractmethod
    def drawings(self) -> dict[str, Callable[[], Picture]]:
        """Every picture by name, still to be drawn."""

    def tables(self) -> dict[str, pd.DataFrame]:
        """Tables to write beside the page, by name."""
        return {}

    @property
    def about_tables(self) -> str:
        """What the page's foot says of these tables."""
        return ""

    @abstractmethod
    def selection(self, pictures: Mapping[str, Picture]) -> str:
        """Which questions are asked."""

    @abstractmethod
    def single(self, pictures: Mapping[str, Picture]) -> str:
        """What was asked of some cases."""

    @abstractmethod
    def questions(self) -> str:
        """What can be asked, and what it costs."""


def shared_words(names: Sequence[str], costs: Sequence[float]) -> str:
    """A paragraph about what is paid once for several questions; empty where nothing is."""
    said = [
        f"{number_text(s['price'])} of these costs is {s['name']!r}, paid once for {listed(s['for'])}."
        for s in shared_facts(names, costs)
    ]
    return f"<p>{escaped(' '.join(said))}</p>" if said else ""
