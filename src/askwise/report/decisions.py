"""The part of a report about a threshold of the probability: its tables, picture and words."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd

from askwise.core.row_weights import worth_text
from askwise.evaluation.decisions import AS_GIVEN, Decisions
from askwise.report.page import Picture, escaped, html_picture, html_table, picture_of
from askwise.report.plots import decisions as plots

NAMES = {
    "sensitivity": "Sensitivity",
    "specificity": "Specificity",
    "positive_predictive_value": "Positive predictive value",
    "negative_predictive_value": "Negative predictive value",
    "net_benefit": "Net benefit",
}


def tables(d: Decisions | None) -> dict[str, pd.DataFrame]:
    """The files of this part by name; none where there are not two labels."""
    if d is None:
        return {}
    return {"decisions": d.measures.rename_axis("measure").reset_index(), "net_benefit": d.curve}


def drawings(d: Decisions | None) -> dict[str, Callable[[], Picture]]:
    """The picture of this part, still to be drawn."""
    if d is None:
        return {}
    alt = f"Net benefit of calling cases {d.label} against the threshold, beside calling all of them and nobody."
    return {"decision_curve": lambda: picture_of(plots.decision_curve(d.curve, d.threshold, str(d.label)), alt)}


def section(d: Decisions | None, pictures: Mapping[str, Picture]) -> str:
    """This part of the page; empty where there are not two labels."""
    if d is None:
        return ""
    counts = [
        [f"called {label}", *map(count_text, d.counts.loc[key])]
        for key, label in {"called": d.label, "cleared": d.other}.items()
    ]
    words = in_words(d)
    lines = [[NAMES[name], words[name], *_numbers(d, name)] for name in words]
    ends = ["95% interval"] if "low" in d.measures else []
    caption = (
        "Net benefit: true calls less false ones, per case, where a false call weighs threshold / (1 - threshold) of a "
        "true one: at a threshold of 20% four false calls undo one true one. A model is of use at the thresholds at "
        "which its line is above both calling everybody and calling nobody. Numbers: net_benefit.csv."
    )
    return "\n".join(
        [
            "<h2>What a threshold decides</h2>",
            f"<p>{escaped(title(d))}. {escaped(which_label(d))}</p>",
            html_table(["", f"is {d.label}", f"is {d.other}"], counts),
            html_table(["Measure", "In words", "Value", *ends], lines, words=2),
            html_picture(pictures["decision_curve"], caption),
        ]
    )


def title(d: Decisions) -> str:
    """What is called, from where on, and what the intervals count."""
    persons = "" if d.n_persons is None else f"; intervals of {d.n_persons} persons"
    weights = "" if d.weights is None else f"; cases {worth_text(d.weights)}"
    return f"Called {d.label} from a probability of {d.threshold:g} on, {d.stopped}{persons}{weights}"


def which_label(d: Decisions) -> str:
    """Which label is to be found and why it is this one, and how to have the other."""
    if d.chosen == AS_GIVEN:
        return f"The label to find, {d.label}, is that of --positive."
    return f"The label to find is {d.label}, {d.chosen}; for the other: --positive {shlex.quote(str(d.other))}."


def count_text(count: float) -> str:
    """A number of rows as it is; a sum of weights with four digits, or whole."""
    return f"{count:.0f}" if count == round(count) or count >= 1000 else f"{count:.4g}"


def in_words(d: Decisions) -> dict[str, str]:
    """Each measure as a sentence about a hundred cases."""
    label, other = d.label, d.other
    called = {
        "sensitivity": (f"that are {label}", f"called {label}"),
        "specificity": (f"that are {other}", f"called {other}"),
        "positive_predictive_value": (f"called {label}", label),
        "negative_predictive_value": (f"called {other}", other),
    }
    words = {name: _of_hundred(float(d.measures.loc[name, "value"]), *parts) for name, parts in called.items()}
    share, odds = d.counts["is"].sum() / d.counts.to_numpy().sum(), d.threshold / (1 - d.threshold)
    worth = share - (1 - share) * odds
    words["net_benefit"] = f"calling everybody {label}: {worth:.4f}; calling nobody: 0"
    return words


def _of_hundred(share: float, which: str, are: object) -> str:
    if not np.isfinite(share):
        return f"there are no cases {which}"
    return f"of 100 cases {which}, {100 * share:.0f} are {are}"


def _numbers(d: Decisions, name: str) -> list[str]:
    """A measure's value, and its interval where there is one."""
    line = d.measures.loc[name]
    ends = [f"{value_text(name, line['low'])} to {value_text(name, line['high'])}"] if "low" in line else []
    return [value_text(name, line["value"]), *ends]


def value_text(name: str, value: float) -> str:
    """A share in percent, the net benefit as a number."""
    if not np.isfinite(value):
        return "n/a"
    return f"{value:.4f}" if name == "net_benefit" else f"{value:.1%}"
