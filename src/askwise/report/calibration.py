"""The part of a report that tells whether the model's numbers can be trusted: its tables, pictures and words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from askwise.core.arrays import Array
from askwise.core.errors import listed
from askwise.core.tasks import Classification
from askwise.evaluation import calibration
from askwise.evaluation.calibration import Calibration, Z
from askwise.evaluation.estimates import realised_bins
from askwise.methods.base import Method
from askwise.report import calibration_captions as captions
from askwise.report.beside import differing_settings, price_notes
from askwise.report.page import Picture, escaped, html_picture, html_table, picture_of
from askwise.report.plots import calibration as calibration_plots
from askwise.report.plots.style import in_units_of, number_text

# What the table calls the numbers of a summary, and how it writes them.
ON_AVERAGE, BY_CHANCE = "… of a perfect model, on average", "… of a perfect model, by chance up to"
FACTS = {
    "ece": ("Calibration error (ECE) at budget {budget}", "{:.4f}"),
    "ece_if_perfect": (ON_AVERAGE, "{:.4f}"),
    "ece_if_perfect_high": (BY_CHANCE, "{:.4f}"),
    "ece_everything": ("Calibration error (ECE) with everything known", "{:.4f}"),
    "ece_everything_if_perfect": (ON_AVERAGE, "{:.4f}"),
    "ece_everything_if_perfect_high": (BY_CHANCE, "{:.4f}"),
    "realised_over_predicted": ("Realised over predicted", "{:.1%}"),
    "share_above_entropy": ("Moments with an estimate above the prediction's entropy", "{:.2%}"),
}


@dataclass(frozen=True)
class Calibrations:
    """The calibration of a model and, where one was given, of a second; each under the name that pictures show.

    notes: what is to be known before both are compared. target: what is predicted, if its name is known.
    """

    models: dict[str, Calibration]
    notes: tuple[str, ...] = ()
    target: str = ""

    @property
    def first(self) -> Calibration:
        return next(iter(self.models.values()))

    @property
    def by_role(self) -> dict[str, Calibration]:
        """The models under the names that files have for them."""
        return dict(zip(("this", "beside"), self.models.values(), strict=False))

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


def measure(
    estimator: Method,
    beside: Method | None,
    X: Any,
    y: Array,
    prices: tuple[float, ...],
    weights: Array | None = None,
    persons: Array | None = None,
    target: str = "",
) -> Calibrations:
    """The calibration of one or two estimators on the same cases, at the same prices, under weights (rows,)."""
    rows = estimator.encode(X).with_weight(weights)
    first = calibration.calibration(estimator.model_, rows, y, prices, persons)
    if beside is None:
        return Calibrations({"": first}, target=target)
    of_second = beside.encode(X).with_weight(weights)
    second = calibration.calibration(beside.model_, of_second, y, prices, persons)
    mine, other = differing_settings(estimator, beside)
    notes = price_notes(estimator.model_, beside.model_)
    return Calibrations({f"this model{mine}": first, f"the second model{other}": second}, notes, target)


def tables(calibrations: Calibrations) -> dict[str, pd.DataFrame]:
    """The files of this part by name; the column model says of which of the two."""
    which = dict(zip(calibrations.models, calibrations.by_role, strict=True))
    found = {
        "trust": {name: pd.DataFrame([c.summary]) for name, c in calibrations.models.items()},
        "reliability": {name: _reliability(c) for name, c in calibrations.models.items()},
        "realised": {name: realised_bins(table) for name, table in calibrations.questions.items()},
    }
    joined = {file: [table.assign(model=which[name]) for name, table in parts.items()] for file, parts in found.items()}
    result = {file: pd.concat(parts, ignore_index=True) for file, parts in joined.items() if parts}
    return {file: table[["model", *table.columns.drop("model")]] for file, table in result.items()}


def _reliability(c: Calibration) -> pd.DataFrame:
    by_bin = calibration.reliability if isinstance(c.task, Classification) else calibration.number_reliability
    return by_bin(c.at_budget, c.truth, c.weights)


def drawings(calibrations: Calibrations) -> dict[str, Callable[[], Picture]]:
    """Every picture of this part by name, still to be drawn."""
    first, questions = calibrations.first, calibrations.questions
    unit = "nats" if calibrations.is_classes else in_units_of(calibrations.target, "squared units of y")
    found: dict[str, Callable[[], Picture]] = {}
    if calibrations.is_classes:
        found["calibration"] = lambda: _draw_reliability(calibrations)
        found["full_input"] = lambda: picture_of(
            calibration_plots.confidence(calibration.confidence_counts(first.everything, first.truth)),
            "Bars of how many cases have which confidence with everything known, right and wrong ones.",
        )
    else:
        found["calibration"] = lambda: picture_of(
            calibration_plots.number_reliability(_reliability(first)),
            f"Mean truth against mean prediction at budget {calibrations.budget}, in at most ten bins of cases.",
        )
    if questions:
        found["information"] = lambda: picture_of(
            calibration_plots.information({n: realised_bins(t) for n, t in questions.items()}, unit),
            "What questions took off the loss, against what the model had predicted they would.",
        )
        if calibrations.is_classes:
            found["bound"] = lambda: picture_of(
                calibration_plots.entropy_bound(questions),
                "The largest estimate before each question, against the entropy of the prediction.",
            )
    return found


def _draw_reliability(calibrations: Calibrations) -> Picture:
    first, numbers = calibrations.first, calibrations.first.summary
    counts = calibration.confidence_counts(first.at_budget, first.truth)
    return picture_of(
        calibration_plots.reliability(_reliability(first), counts, numbers["ece"], numbers["ece_if_perfect_high"]),
        f"Accuracy against confidence at budget {calibrations.budget}, and how many cases have which confidence.",
    )


def section(calibrations: Calibrations, pictures: Mapping[str, Picture]) -> str:
    """This part of the page."""
    texts = _captions(calibrations)
    lines = (*sentences(calibrations.first), *calibrations.notes)
    said = [f"<p>{escaped(line)}</p>" for line in lines]
    shown = [html_picture(pictures[name], text) for name, text in texts.items() if name in pictures]
    return "\n".join([*said, _facts(calibrations), *shown])


def sentences(c: Calibration) -> list[str]:
    """What the numbers of a calibration say, a line each."""
    numbers, budget, lines = c.summary, number_text(c.budget), []
    if "ece" in numbers:
        most = numbers["ece_if_perfect_high"]
        verdict = "no sign of miscalibration"
        if numbers["ece"] > most:
            sure, right = c.at_budget.max(1).mean(), (c.at_budget.argmax(1) == c.truth).mean()
            verdict = f"more than chance explains; it is {sure:.0%} sure and {right:.0%} right on average"
        lines.append(
            f"Calibration at budget {budget}: ECE {numbers['ece']:.3f}; a perfect model would show "
            f"{numbers['ece_if_perfect']:.3f} on these rows, and up to {most:.3f} by chance: {verdict}."
        )
    ratio = "realised_over_predicted"
    if np.isfinite(numbers.get(ratio, np.nan)):
        kept = _written("{:.0%}", numbers[ratio], numbers[f"{ratio}_error"])
        how = " (95% interval)" if "±" in kept else ""
        lines.append(
            f"Realised over predicted: questions up to budget {budget} reduced the loss by {kept} of what was "
            f"predicted{how}."
        )
    if c.too_dear:
        costs = "it costs" if len(c.too_dear) == 1 else "they cost"
        lines.append(f"Not tried here, since {costs} more than the budget: {listed(c.too_dear)}.")
    return lines


def _facts(calibrations: Calibrations) -> str:
    numbers = [c.summary for c in calibrations.models.values()]
    heads = ["", *(["Value"] if len(numbers) == 1 else ["This model", "The second model"])]
    lines = [
        [
            words.format(budget=calibrations.budget),
            *(_written(form, n.get(name), n.get(f"{name}_error")) for n in numbers),
        ]
        for name, (words, form) in FACTS.items()
        if name in numbers[0]
    ]
    return html_table(heads, lines)


def _written(form: str, number: float | None, error: float | None = None) -> str:
    """A number, and where its standard error is known how far its 95 % interval reaches to either side."""
    if number is None or np.isnan(number):
        return "n/a"
    half = np.nan if error is None else Z * error
    return form.format(number) + (f" ± {form.format(half)}" if np.isfinite(half) else "")


def _captions(calibrations: Calibrations) -> dict[str, str]:
    budget, is_classes = calibrations.budget, calibrations.is_classes
    asked = next(iter(calibrations.questions.values()), pd.DataFrame(columns=["row"]))
    return {
        "calibration": captions.reliability(budget, len(calibrations.first.truth), is_classes),
        "information": captions.information(budget, asked, is_classes),
        "bound": captions.bound(asked),
        "full_input": captions.FULL_INPUT,
    }
