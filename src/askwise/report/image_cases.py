"""The parts of a report about patches and single images."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, partial

import numpy as np
import pandas as pd

from askwise.core.arrays import Array
from askwise.core.costs import are_equal
from askwise.core.rows import Rows, evenly
from askwise.evaluation import image_cases
from askwise.report.cases import Cases, shared_words
from askwise.report.page import Picture, counted, escaped, fold, html_picture, html_table, picture_of
from askwise.report.plots.image_case import draw_case
from askwise.report.plots.images import draw_examples, draw_selection
from askwise.report.plots.style import number_text
from askwise.session.replies import in_words

# Single images drawn with all that is known about them.
IMAGES_SHOWN = 3


class ImageCases(Cases):
    """Patches as questions: maps over the image, and images with the patches that were asked."""

    @cached_property
    def _shares(self) -> pd.DataFrame:
        return image_cases.patch_shares(self.model, self.sample.acquired)

    @cached_property
    def _rows(self) -> Rows:
        return self.sample.rows.take(self.sample.some)

    @property
    def _truth(self) -> Array:
        return np.asarray(self.sample.truth[self.sample.some.numpy()])

    @cached_property
    def _names(self) -> list[str]:
        """What each image of the sample is called: its file, or its row, counted from 0."""
        names, some = self.sample.names, self.sample.some.tolist()
        return [f"row {i}" if names is None else names[i] for i in some]

    def drawings(self) -> dict[str, Callable[[], Picture]]:
        cases = {f"case_{n + 1}": partial(self._draw_case, i) for n, i in enumerate(self._shown())}
        return {"selection": self._draw_selection, "examples": self._draw_examples, **cases}

    def tables(self) -> dict[str, pd.DataFrame]:
        sample = self.sample
        cases = image_cases.case_table(self.model, sample.acquired, self._truth)
        cases["reason"] = [in_words(reason) for reason in cases["reason"]]
        where = {"row": sample.some.numpy()} if sample.names is None else {"file": self._names}
        return {"patches": self._shares.reset_index(), "cases": pd.concat([pd.DataFrame(where), cases], axis=1)}

    @property
    def about_tables(self) -> str:
        some, n = len(self._truth), len(self.sample.rows)
        which = "each image" if some == n else f"{some:,} of the images"
        return f" How often each patch is asked is in patches.csv, what was asked of {which} in cases.csv."

    def _draw_selection(self) -> Picture:
        shares = self._shares.to_numpy().ravel()
        names = self.model.schema.space.names
        most = ", ".join(f"{names[i]} ({shares[i]:.0%})" for i in np.argsort(-shares, kind="stable")[:3])
        mean = image_cases.mean_image(self.model, self._rows)
        words = f"The mean of the images, and a heat map of how often each of its patches is asked; most often: {most}."
        return picture_of(draw_selection(self._shares, mean), words, photo=True)

    def _draw_examples(self) -> Picture:
        examples = self.sample.examples.tolist()
        acquired = self.sample.acquired
        figure = draw_examples(self.model, self._rows, acquired, examples, self._truth, self._names)
        which = ", ".join(self._names[i] for i in examples)
        words = f"{counted(len(examples), 'image')} with the patches that were asked: {which}."
        return picture_of(figure, words, photo=True)

    def _draw_case(self, position: int) -> Picture:
        row = self._rows.take(slice(position, position + 1))
        case = image_cases.image_case(self.model, row, self.sample.rule, self.sample.costs)
        name = self._names[position]
        words = f"The image {name} and the patches asked of it, what each was worth, and how the prediction moved."
        return picture_of(draw_case(case, self._truth[position], name), words, photo=True)

    def _shown(self) -> list[int]:
        """Of the examples a mistake, where there is one, and others from few patches to many."""
        examples, proba = self.sample.examples.tolist(), self.sample.acquired.proba
        labels = image_cases.labels_of(self.model)
        wrong: list[int] = []
        if labels is not None and proba is not None:
            wrong = [i for i in examples if labels[int(proba[i].argmax())] != self._truth[i]][-1:]
        right = [i for i in examples if i not in wrong]
        some = [right[k] for k in evenly(len(right), IMAGES_SHOWN - len(wrong)).tolist()]
        return [i for i in examples if i in {*some, *wrong}]

    def selection(self, pictures: Mapping[str, Picture]) -> str:
        caption = f"Stopping by {self.sample.rule_name}: the share of images of which each patch is asked."
        heads = ["Row", *(str(column) for column in self._shares.columns)]
        lines = [[str(row), *(f"{share:.0%}" for share in line)] for row, line in self._shares.iterrows()]
        numbers = fold("Numbers for every patch", html_table(heads, lines))
        return f"{html_picture(pictures['selection'], caption)}\n{numbers}"

    def single(self, pictures: Mapping[str, Picture]) -> str:
        tells = "how much the model expects to learn from each patch"
        if not self.model.policy.is_information:
            tells = "in which order the method would ask"
        captions = {
            "examples": f"Stopping by {self.sample.rule_name}: images with few and many patches, and worst mistakes.",
            "case_1": f"Some of them more closely. The maps tell {tells}, in colours that grow with the root of the "
            "numbers; framed is the patch asked next, hatched are those that are known.",
        }
        shown = ["examples", *(name for name in pictures if name.startswith("case_"))]
        return "\n".join(html_picture(pictures[name], captions.get(name, "Another of them.")) for name in shown)

    def questions(self) -> str:
        layout = image_cases.image_schema(self.model).layout
        prices = self.model.costs(self.sample.costs)
        rows, columns = layout.grid
        size = f"{layout.patch} x {layout.patch} pixels"
        words = f"{layout.n_patches} patches of {size}, in {rows} rows and {columns} columns"
        words += f"; each costs {number_text(prices[0])}." if are_equal(prices) else "."
        if layout.sketch:
            words += " A sketch of the image, its edges, is known from the start."
        said = f"<p>{escaped(words)}</p>"
        if are_equal(prices):
            return said
        said += shared_words(layout.names, prices)
        lines = [[str(r + 1), *map(number_text, prices[r * columns : (r + 1) * columns])] for r in range(rows)]
        return said + fold("What each patch costs", html_table(["Row", *(str(c + 1) for c in range(columns))], lines))
