"""The part of a report that tells whether the model's numbers can be trusted: its tables, pictures and words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from askwise import calibration, calibration_plots
from askwise.calibration import Calibration
from askwise.errors import AskwiseError, listed
from askwise.methods.base import CIRCUMSTANCES, Method
from askwise.model import Model
from askwise.plots import number_text
from askwise.report_page import Picture, html_picture, html_table, picture_of
from askwise.tasks import Classification

Array = np.ndarray[Any, Any]

# What the table calls the numbers of a summary, and how it writes them.
FACTS = {
    "ece": ("Calibration error (ECE) at budget {budget}", "{:.4f}"),
    "ece_if_perfect": ("… that a perfect model would show", "{:.4f}"),
    "ece_everything": ("Calibration error (ECE) with everything known", "{:.4f}"),
    "ece_everything_if_perfect": ("… that a perfect model would show", "{:.4f}"),
    "realised_over_predicted": ("Reduction of loss, for 1 that was predicted", "{:.3f}"),
    "slope": ("… for 1 more that was predicted (slope)", "{:.3f}"),
    "share_above_entropy": ("Moments with an estimate above the prediction's entropy", "{:.2%}"),
}


@dataclass(frozen=True)
class Trust:
    """The calibration of a model and, where one was given, of a second; each under the name that pictures show."""

    models: dict[str, Calibration]

    @property
    def first(self) -> Calibration:
        return next(iter(self.models.values()))

    @property
    def is_classes(self) -> bool:
        return isinstance(self.first.task, Classification)

    @property
    def budget(self) -> str:
        return number_text(self.first.budget)

    @property
    def questions(self) -> dict[str, pd.DataFrame]:
        """What was asked under each model whose estimates are information."""
        found = {name: c.questions for name, c in self.models.items()}
        return {name: table for name, table in found.items() if table is not None and len(table)}


def check_beside(model: Model, other: Model) -> None:
    """Raise where a second model does not have the questions and answers of the first."""
    ours, theirs = model.schema, other.schema
    if ours.column_names != theirs.column_names:
        odd = sorted({*ours.column_names} ^ {*theirs.column_names})
        what = f"only one of the two has {listed(odd)}" if odd else "they are in another order"
        raise AskwiseError(f"the second model has other columns: {what}; train it on the same table")
    if ours.space.names != theirs.space.names or ours.space.group_of_column != theirs.space.group_of_column:
        raise AskwiseError(
            f"the second model groups its columns otherwise: its questions are {listed(theirs.space.names)}, those of "
            f"the first are {listed(ours.space.names)}; train it with the same groups and free columns"
        )
    if _answers(model) != _answers(other):
        raise AskwiseError(
            f"the second model predicts {_answers(other)}, the first {_answers(model)}; train it for the same target"
        )


def _answers(model: Model) -> str:
    return f"one of {listed(model.task.labels)}" if isinstance(model.task, Classification) else "a number"


def measure(estimator: Method, beside: Method | None, X: Any, y: Array, prices: tuple[float, ...]) -> Trust:
    """The calibration of one or two estimators on the same cases, at the same prices."""
    first = calibration.calibration(estimator.model_, estimator.encode(X), y, prices)
    if beside is None:
        return Trust({"": first})
    second = calibration.calibration(beside.model_, beside.encode(X), y, prices)
    mine, other = _differences(estimator, beside)
    return Trust({f"this model{mine}": first, f"the second model{other}": second})


def _differences(one: Method, two: Method) -> tuple[str, str]:
    """The settings in which two estimators differ, in brackets: what tells them apart."""
    settings = [
        {
            k: v
            for k, v in e.get_params(deep=False).items()
            if isinstance(v, (str, int, float)) and k not in CIRCUMSTANCES
        }
        for e in (one, two)
    ]
    differ = [k for k, v in settings[0].items() if settings[1].get(k, v) != v]
    if not differ:
        return "", ""
    mine, other = (" (" + ", ".join(f"{k}={s[k]}" for k in differ) + ")" for s in settings)
    return mine, other


def tables(trust: Trust) -> dict[str, pd.DataFrame]:
    """The files of this part by name; the column model says of which of the two."""
    which = dict(zip(trust.models, ("this", "beside"), strict=False))
    found = {
        "trust": {name: pd.DataFrame([c.summary]) for name, c in trust.models.items()},
        "reliability": {name: _reliability(c) for name, c in trust.models.items()},
        "realised": {name: calibration.realised_bins(table) for name, table in trust.questions.items()},
    }
    joined = {file: [table.assign(model=which[name]) for name, table in parts.items()] for file, parts in found.items()}
    result = {file: pd.concat(parts, ignore_index=True) for file, parts in joined.items() if parts}
    return {file: table[["model", *table.columns.drop("model")]] for file, table in result.items()}


def _reliability(c: Calibration) -> pd.DataFrame:
    by_bin = calibration.reliability if isinstance(c.task, Classification) else calibration.number_reliability
    return by_bin(c.at_budget, c.truth)


def drawings(trust: Trust) -> dict[str, Callable[[], Picture]]:
    """Every picture of this part by name, still to be drawn."""
    first, questions = trust.first, trust.questions
    unit = "nats" if trust.is_classes else "squared units of y"
    found: dict[str, Callable[[], Picture]] = {}
    if trust.is_classes:
        found["calibration"] = lambda: _draw_reliability(trust)
        found["full_input"] = lambda: picture_of(
            calibration_plots.confidence(calibration.confidence_counts(first.everything, first.truth)),
            "Bars of how many cases have which confidence with everything known, right and wrong ones.",
        )
    else:
        found["calibration"] = lambda: picture_of(
            calibration_plots.number_reliability(_reliability(first)),
            f"Mean truth against mean prediction at budget {trust.budget}, in ten bins of cases.",
        )
    if questions:
        found["information"] = lambda: picture_of(
            calibration_plots.information({n: calibration.realised_bins(t) for n, t in questions.items()}, unit),
            "What questions took off the loss, against what the model had predicted they would.",
        )
        if trust.is_classes:
            found["bound"] = lambda: picture_of(
                calibration_plots.entropy_bound(questions),
                "The largest estimate before each question, against the entropy of the prediction.",
            )
    return found


def _draw_reliability(trust: Trust) -> Picture:
    first, numbers = trust.first, trust.first.summary
    counts = calibration.confidence_counts(first.at_budget, first.truth)
    return picture_of(
        calibration_plots.reliability(_reliability(first), counts, numbers["ece"], numbers["ece_if_perfect"]),
        f"Accuracy against confidence at budget {trust.budget}, and how many cases have which confidence.",
    )


def section(trust: Trust, pictures: Mapping[str, Picture]) -> str:
    """This part of the page."""
    captions = _captions(trust)
    shown = [html_picture(pictures[name], captions[name]) for name in captions if name in pictures]
    return "\n".join([_facts(trust), *shown])


def _facts(trust: Trust) -> str:
    numbers = [c.summary for c in trust.models.values()]
    heads = ["", *(["Value"] if len(numbers) == 1 else ["This model", "The second model"])]
    lines = [
        [words.format(budget=trust.budget), *(_written(form, n.get(name)) for n in numbers)]
        for name, (words, form) in FACTS.items()
        if name in numbers[0]
    ]
    return html_table(heads, lines)


def _written(form: str, number: float | None) -> str:
    return "n/a" if number is None or np.isnan(number) else form.format(number)


def _captions(trust: Trust) -> dict[str, str]:
    """What each picture shows and how to read it."""
    asked = next(iter(trust.questions.values()), pd.DataFrame(columns=["row"]))
    at_budget = f"Predictions at budget {trust.budget}, in ten bins of about equally many cases, with 95% intervals. "
    captions = {"calibration": at_budget}
    if trust.is_classes:
        captions["calibration"] += (
            "Below the dashed line the model is surer than it is right. ECE is the mean distance to that line; with "
            f"{len(trust.first.truth):,} cases chance alone keeps it above 0, so it is to be compared with that of a "
            "perfect model that makes these very predictions."
        )
    else:
        captions["calibration"] += "On the dashed line predictions are right on average."
    captions["information"] = (
        f"The {len(asked):,} questions asked of {asked['row'].nunique():,} cases up to budget {trust.budget}, in ten "
        "bins of what they were predicted to tell, with 95% intervals. On the dashed line an estimate is what came of "
        "it on average. The question asked is the one that looked best, so a little less than predicted is no surprise."
    )
    if trust.is_classes:
        captions["information"] += (
            " Loss is measured with the true answer; entropy is the model's own doubt, which falls faster than the "
            "loss where it is overconfident."
        )
    captions["bound"] = (
        "Before each of these questions, the largest estimate of all that could be asked. An answer can't tell more "
        "than there is doubt: what lies above the line, in orange, is impossible."
    )
    captions["full_input"] = (
        "Some cases may stay uncertain with everything known. Stopping by confidence would ask all questions of them; "
        "stopping by penalty need not."
    )
    return captions
