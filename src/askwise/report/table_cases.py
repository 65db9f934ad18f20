"""The parts of a report about questions and single cases of a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property

import pandas as pd

from askwise.evaluation import summaries
from askwise.report.cases import Cases, shared_words
from askwise.report.page import Picture, fold, html_picture, html_table, picture_of
from askwise.report.plots import cases as case_plots
from askwise.report.plots import questions
from askwise.report.plots.style import number_text

MOST_QUESTIONS = 15


class TableCases(Cases):
    """Columns as questions: heat maps with a line for each, and paths with their names."""

    @cached_property
    def _selection(self) -> pd.DataFrame:
        sample = self.sample
        whole = self.model.acquire(sample.rows.take(sample.some), None, sample.costs)
        return summaries.selection_frequency(whole.order, self.model.schema.space.names, MOST_QUESTIONS)

    @cached_property
    def _paths(self) -> pd.DataFrame:
        sample = self.sample
        chosen = sample.some.numpy()[sample.examples].tolist()
        return summaries.path_table(self.model, sample.rows, sample.rule, sample.costs, chosen)

    def drawings(self) -> dict[str, Callable[[], Picture]]:
        return {
            "selection": lambda: picture_of(
                questions.selection_heatmap(self._selection),
                "Heat map of the share of cases in which each group is known; asked first: "
                f"{', '.join(self._selection.index[:3])}.",
            ),
            "paths": lambda: picture_of(
                case_plots.paths(self._paths, self.sample.truth, columns=2),
                f"The prediction after each question, for {self._paths['row'].nunique()} single cases.",
            ),
        }

    def selection(self, pictures: Mapping[str, Picture]) -> str:
        caption = "Share of cases in which each group is known after so many questions, when asking goes on to the end."
        heads = ["Group", *(str(k) for k in self._selection.columns)]
        lines = [[name, *(f"{share:.0%}" for share in line)] for name, line in self._selection.iterrows()]
        numbers = fold("Numbers for every group", html_table(heads, lines))
        return f"{html_picture(pictures['selection'], caption)}\n{numbers}"

    def single(self, pictures: Mapping[str, Picture]) -> str:
        return html_picture(
            pictures["paths"],
            f"Stopping by {self.sample.rule_name}: cases with few and many questions, and the worst mistakes. "
            "Cases are numbered from 0, in the order of the data.",
        )

    def questions(self) -> str:
        schema = self.model.schema
        costs = self.model.costs(self.sample.costs)
        groups = zip(schema.space.names, costs, strict=True)
        lines = [[name, ", ".join(c.name for c in schema.columns_of(name)), number_text(cost)] for name, cost in groups]
        lines += [[name, "known from the start", "free"] for name in schema.free]
        return html_table(["Question", "Columns", "Cost"], lines, words=2) + shared_words(schema.space.names, costs)
