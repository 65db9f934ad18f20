"""The parts of a report about questions and single cases: one way for tables, one for images."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import pandas as pd
from torch import Tensor

from askwise.core.arrays import Array
from askwise.core.rows import Rows, evenly
from askwise.core.step import StoppingRule
from askwise.data.images.schema import ImageSchema
from askwise.evaluation import image_cases, summaries
from askwise.model.model import Acquisition, Costs, Model
from askwise.report.page import Picture, counted, escaped, fold, html_picture, html_table, picture_of
from askwise.report.plots import cases as case_plots
from askwise.report.plots import curves as plots
from askwise.report.plots import images as image_plots
from askwise.report.plots.style import number_text
from askwise.session.replies import in_words

MOST_QUESTIONS = 15
# Single images drawn with all that is known about them.
IMAGES_SHOWN = 3


@dataclass(frozen=True)
class Asked:
    """What a rule asked of the cases of a report, or of some of them where they are many.

    some: positions in rows and truth; acquired is about these. telling: positions in some, of a few cases to show.
    names: what each of the rows is called, such as its file; None where that is not known.
    """

    model: Model
    rows: Rows
    truth: Array
    costs: Costs
    some: Tensor
    rule_name: str
    rule: StoppingRule
    acquired: Acquisition
    telling: Array
    names: Sequence[str] | None = None


class Cases(ABC):
    """What a report tells of questions and of single cases."""

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self.model = asked.model

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


def cases_of(asked: Asked) -> Cases:
    """These parts for the kind of data that a model learnt from."""
    return (ImageCases if isinstance(asked.model.schema, ImageSchema) else TableCases)(asked)


class TableCases(Cases):
    """Columns as questions: heat maps with a line for each, and paths with their names."""

    @cached_property
    def _selection(self) -> pd.DataFrame:
        asked = self.asked
        whole = self.model.acquire(asked.rows.take(asked.some), None, asked.costs)
        return summaries.selection_frequency(whole.order, self.model.schema.space.names, MOST_QUESTIONS)

    @cached_property
    def _paths(self) -> pd.DataFrame:
        asked = self.asked
        chosen = asked.some.numpy()[asked.telling].tolist()
        return summaries.path_table(self.model, asked.rows, asked.rule, asked.costs, chosen)

    def drawings(self) -> dict[str, Callable[[], Picture]]:
        return {
            "selection": lambda: picture_of(
                plots.selection_heatmap(self._selection),
                "Heat map of the share of cases in which each group is known; asked first: "
                f"{', '.join(self._selection.index[:3])}.",
            ),
            "paths": lambda: picture_of(
                case_plots.paths(self._paths, self.asked.truth, columns=2),
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
            f"Stopping by {self.asked.rule_name}: cases with few and many questions, and the worst mistakes. "
            "Cases are numbered from 0, in the order of the data.",
        )

    def questions(self) -> str:
        schema = self.model.schema
        groups = zip(schema.space.names, self.model.costs(self.asked.costs), strict=True)
        lines = [[name, ", ".join(c.name for c in schema.columns_of(name)), number_text(cost)] for name, cost in groups]
        lines += [[name, "known from the start", "free"] for name in schema.free]
        return html_table(["Question", "Columns", "Cost"], lines, words=2)


class ImageCases(Cases):
    """Patches as questions: maps over the image, and images with the patches that were asked."""

    @cached_property
    def _shares(self) -> pd.DataFrame:
        return image_cases.patch_shares(self.model, self.asked.acquired)

    @cached_property
    def _sample(self) -> Rows:
        return self.asked.rows.take(self.asked.some)

    @property
    def _truth(self) -> Array:
        return np.asarray(self.asked.truth[self.asked.some.numpy()])

    @cached_property
    def _names(self) -> list[str]:
        """What each image of the sample is called: its file, or its row, counted from 0."""
        names, some = self.asked.names, self.asked.some.tolist()
        return [f"row {i}" if names is None else names[i] for i in some]

    def drawings(self) -> dict[str, Callable[[], Picture]]:
        cases = {f"case_{n + 1}": partial(self._draw_case, i) for n, i in enumerate(self._shown())}
        return {"selection": self._draw_selection, "examples": self._draw_examples, **cases}

    def tables(self) -> dict[str, pd.DataFrame]:
        asked = self.asked
        cases = image_cases.case_table(self.model, asked.acquired, self._truth)
        cases["reason"] = [in_words(reason) for reason in cases["reason"]]
        where = {"row": asked.some.numpy()} if asked.names is None else {"file": self._names}
        return {"patches": self._shares.reset_index(), "cases": pd.concat([pd.DataFrame(where), cases], axis=1)}

    @property
    def about_tables(self) -> str:
        some, n = len(self._truth), len(self.asked.rows)
        which = "each image" if some == n else f"{some:,} of the images"
        return f" How often each patch is asked is in patches.csv, what was asked of {which} in cases.csv."

    def _draw_selection(self) -> Picture:
        shares = self._shares.to_numpy().ravel()
        names = self.model.schema.space.names
        most = ", ".join(f"{names[i]} ({shares[i]:.0%})" for i in np.argsort(-shares, kind="stable")[:3])
        mean = image_cases.mean_image(self.model, self._sample)
        words = f"The mean of the images, and a heat map of how often each of its patches is asked; most often: {most}."
        return picture_of(image_plots.draw_selection(self._shares, mean), words, photo=True)

    def _draw_examples(self) -> Picture:
        telling = self.asked.telling.tolist()
        acquired = self.asked.acquired
        figure = image_plots.draw_examples(self.model, self._sample, acquired, telling, self._truth, self._names)
        which = ", ".join(self._names[i] for i in telling)
        words = f"{counted(len(telling), 'image')} with the patches that were asked: {which}."
        return picture_of(figure, words, photo=True)

    def _draw_case(self, position: int) -> Picture:
        row = self._sample.take(slice(position, position + 1))
        case = image_cases.image_case(self.model, row, self.asked.rule, self.asked.costs)
        name = self._names[position]
        words = f"The image {name} and the patches asked of it, what each was worth, and how the prediction moved."
        return picture_of(image_plots.draw_case(case, self._truth[position], name), words, photo=True)

    def _shown(self) -> list[int]:
        """Of the telling images a mistake, where there is one, and others from few patches to many."""
        telling, proba = self.asked.telling.tolist(), self.asked.acquired.proba
        labels = image_cases.labels_of(self.model)
        wrong: list[int] = []
        if labels is not None and proba is not None:
            wrong = [i for i in telling if labels[int(proba[i].argmax())] != self._truth[i]][-1:]
        right = [i for i in telling if i not in wrong]
        some = [right[k] for k in evenly(len(right), IMAGES_SHOWN - len(wrong)).tolist()]
        return [i for i in telling if i in {*some, *wrong}]

    def selection(self, pictures: Mapping[str, Picture]) -> str:
        caption = f"Stopping by {self.asked.rule_name}: the share of images of which each patch is asked."
        heads = ["Row", *(str(column) for column in self._shares.columns)]
        lines = [[str(row), *(f"{share:.0%}" for share in line)] for row, line in self._shares.iterrows()]
        numbers = fold("Numbers for every patch", html_table(heads, lines))
        return f"{html_picture(pictures['selection'], caption)}\n{numbers}"

    def single(self, pictures: Mapping[str, Picture]) -> str:
        tells = "how much the model expects to learn from each patch"
        if not self.model.policy.is_information:
            tells = "in which order the method would ask"
        captions = {
            "examples": f"Stopping by {self.asked.rule_name}: images with few and many patches, and worst mistakes.",
            "case_1": f"Some of them more closely. The maps tell {tells}, in colours that grow with the root of the "
            "numbers; framed is the patch asked next, hatched are those that are known.",
        }
        shown = ["examples", *(name for name in pictures if name.startswith("case_"))]
        return "\n".join(html_picture(pictures[name], captions.get(name, "Another of them.")) for name in shown)

    def questions(self) -> str:
        layout = image_cases.image_schema(self.model).layout
        prices = self.model.costs(self.asked.costs)
        rows, columns = layout.grid
        size = f"{layout.patch} x {layout.patch} pixels"
        words = f"{layout.n_patches} patches of {size}, in {rows} rows and {columns} columns"
        words += f"; each costs {number_text(prices[0])}." if len(set(prices)) == 1 else "."
        if layout.sketch:
            words += " A sketch of the image, its edges, is known from the start."
        said = f"<p>{escaped(words)}</p>"
        if len(set(prices)) == 1:
            return said
        lines = [[str(r + 1), *map(number_text, prices[r * columns : (r + 1) * columns])] for r in range(rows)]
        return said + fold("What each patch costs", html_table(["Row", *(str(c + 1) for c in range(columns))], lines))
