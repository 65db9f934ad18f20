"""The part of a report that tells whether the model's numbers can be trusted: its tables, pictures and words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from askwise.core.arrays import Array
from askwise.core.errors import AskwiseError, listed
from askwise.core.tasks import Classification
from askwise.evaluation import calibration
from askwise.evaluation.calibration import Calibration, Z
from askwise.methods.base import CIRCUMSTANCES, Method
from askwise.model.model import Model
from askwise.report.page import Picture, counted, escaped, html_picture, html_table, picture_of
from askwise.report.plots import calibration as calibration_plots
from askwise.report.plots.style import number_text

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
class Trust:
    """The calibration of a model and, where one was given, of a second; each under the name that pictures show.

    notes: what is to be known before both are compared.
    """

    models: dict[str, Calibration]
    notes: tuple[str, ...] = ()

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


def check_beside(model: Model, other: Model) -> None:
    """Raise where a second model does not have the questions and answers of the first."""
    ours, theirs = model.schema, other.schema
    if ours.column_names != theirs.column_names:
        how = _apart("only one of the two has", ours.column_names, theirs.column_names)
        raise AskwiseError(f"the second model has other columns: {how}; train it on the same table")
    groups, others = (list(zip(schema.space.names, schema.space.members, strict=True)) for schema in (ours, theirs))
    if groups != others:
        how = _apart("they differ in", groups, others, lambda group: group[0])
        raise AskwiseError(
            f"the second model groups its columns otherwise: {how}; train it with the same groups and free columns"
        )
    labels, other_labels = _labels(model), _labels(other)
    if labels != other_labels:
        how = f": {_apart('only one of the two has', labels, other_labels)}" if labels and other_labels else ""
        raise AskwiseError(
            f"the second model predicts {_answers(other)}, the first {_answers(model)}{how}; train it for the same "
            "target"
        )


def _apart(says: str, one: Sequence[Any], two: Sequence[Any], name: Callable[[Any], Any] = lambda item: item) -> str:
    """What tells two sequences apart, in words."""
    odd = [item for item in one if item not in two] + [item for item in two if item not in one]
    return f"{says} {listed(dict.fromkeys(map(name, odd)))}" if odd else "they are in another order"


def _labels(model: Model) -> tuple[Any, ...]:
    """The labels of classes; of a number none."""
    return tuple(model.task.labels) if isinstance(model.task, Classification) else ()


def _answers(model: Model) -> str:
    return f"one of {listed(_labels(model))}" if _labels(model) else "a number"


def measure(estimator: Method, beside: Method | None, X: Any, y: Array, prices: tuple[float, ...]) -> Trust:
    """The calibration of one or two estimators on the same cases, at the same prices."""
    first = calibration.calibration(estimator.model_, estimator.encode(X), y, prices)
    if beside is None:
        return Trust({"": first})
    second = calibration.calibration(beside.model_, beside.encode(X), y, prices)
    mine, other = _differences(estimator, beside)
    notes = _other_prices(estimator.model_, beside.model_)
    return Trust({f"this model{mine}": first, f"the second model{other}": second}, notes)


def _other_prices(model: Model, other: Model) -> tuple[str, ...]:
    """A line where two models learnt under different prices, at most one of which are those of the report."""
    ours, theirs = model.schema.space, other.schema.space
    prices = zip(ours.names, ours.costs, theirs.costs, strict=True)
    odd = [name for name, mine, other_price in prices if mine != other_price]
    if not odd:
        return ()
    return (
        f"The second model was trained with other prices of {listed(odd)}. Here both are measured at the same prices, "
        "so part of what differs may come from that.",
    )


def _differences(one: Method, two: Method) -> tuple[str, str]:
    """The settings in which two estimators differ, in brackets: what tells them apart."""
    settings = [
        {
            k: v
            for k, v in e.get_params(deep=False).items()
            if (v is None or isinstance(v, (str, int, float))) and k not in CIRCUMSTANCES
        }
        for e in (one, two)
    ]
    # What only one of them has, or has as a mapping or a network, has no short name.
    differ = [k for k, v in settings[0].items() if k in settings[1] and settings[1][k] != v]
    if not differ:
        return "", ""
    mine, other = (" (" + ", ".join(f"{k}={s[k]}" for k in differ) + ")" for s in settings)
    return mine, other


def tables(trust: Trust) -> dict[str, pd.DataFrame]:
    """The files of this part by name; the column model says of which of the two."""
    which = dict(zip(trust.models, trust.by_role, strict=True))
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
            f"Mean truth against mean prediction at budget {trust.budget}, in at most ten bins of cases.",
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
        calibration_plots.reliability(_reliability(first), counts, numbers["ece"], numbers["ece_if_perfect_high"]),
        f"Accuracy against confidence at budget {trust.budget}, and how many cases have which confidence.",
    )


def section(trust: Trust, pictures: Mapping[str, Picture]) -> str:
    """This part of the page."""
    captions = _captions(trust)
    said = [f"<p>{escaped(line)}</p>" for line in (*sentences(trust.first), *trust.notes)]
    shown = [html_picture(pictures[name], captions[name]) for name in captions if name in pictures]
    return "\n".join([*said, _facts(trust), *shown])


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


def _facts(trust: Trust) -> str:
    numbers = [c.summary for c in trust.models.values()]
    heads = ["", *(["Value"] if len(numbers) == 1 else ["This model", "The second model"])]
    lines = [
        [words.format(budget=trust.budget), *(_written(form, n.get(name), n.get(f"{name}_error")) for n in numbers)]
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


def _captions(trust: Trust) -> dict[str, str]:
    """What each picture shows and how to read it."""
    asked = next(iter(trust.questions.values()), pd.DataFrame(columns=["row"]))
    at_budget = (
        f"Predictions at budget {trust.budget}, in at most ten bins of about equally many cases, with 95% intervals. "
    )
    captions = {"calibration": at_budget}
    if trust.is_classes:
        captions["calibration"] += (
            "Below the dashed line the model is surer than it is right, above it less sure. ECE is the mean distance "
            f"to that line; with {counted(len(trust.first.truth), 'case')} chance alone keeps it above 0, so it is to "
            "be compared with that of a perfect model that makes these very predictions: its mean, and what it exceeds "
            "in 5% of draws."
        )
    else:
        captions["calibration"] += "On the dashed line predictions are right on average."
    captions["information"] = (
        f"{counted(len(asked), 'question')} asked of {counted(asked['row'].nunique(), 'case')} up to budget "
        f"{trust.budget}, in at most ten bins of what they were predicted to tell, with 95% intervals. On the dashed "
        "line an estimate is what came of it on average; realised over predicted is the mean of all that came over "
        "the mean of all that was predicted. The question asked is the one that looked best, so a little less than "
        "predicted is no surprise."
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
