"""What a threshold decides, on the terminal and as JSON, and the options that say where it is looked at."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Group
from rich.text import Text

from askwise.cli import show
from askwise.core.errors import unknown_name

if TYPE_CHECKING:
    from askwise.evaluation.decisions import Decisions
    from askwise.model.model import Model


@dataclass(frozen=True)
class DecisionChoice:
    """Where two labels are told apart."""

    threshold: Annotated[
        float | None,
        typer.Option(
            "--threshold",
            metavar="P",
            help="Two labels: from which probability on a case is called; by default 0.5.",
        ),
    ] = None
    positive: Annotated[
        str | None,
        typer.Option(
            "--positive",
            metavar="LABEL",
            help="Two labels: which one is called; by default the rarer one in training.",
        ),
    ] = None
    stop: Annotated[
        str | None,
        typer.Option(
            "--stop",
            metavar="RULE",
            help="Two labels: when asking stops before it is decided; by default where the model's curve bends.",
        ),
    ] = None

    def chosen(self, model: Model) -> dict[str, Any]:
        """Return the choice as arguments of a report, checked for the model."""
        from askwise.core.stopping import check_rule, parse_rule
        from askwise.evaluation.decisions import DecisionOptions

        rule = None if self.stop is None else parse_rule(self.stop)
        if rule is not None:
            check_rule(rule, model.task, model.policy)
        positive = None if self.positive is None else _label(self.positive, model)
        DecisionOptions(self.threshold, positive, rule).check(model.task)
        return {"threshold": self.threshold, "positive": positive, "stop": rule}


def _label(text: str, model: Model) -> Any:
    """Return a model's own label from its text; other texts as they are where there are no labels."""
    from askwise.data.tables.column import category_key

    labels = getattr(model.task, "labels", ())
    found = {category_key(label): label for label in labels}
    if labels and category_key(text) not in found:
        raise unknown_name("label in --positive:", text, labels)
    return found.get(category_key(text), text)


def decision_parts(d: Decisions) -> list[Any]:
    """Return what is printed: the confusion matrix, and each measure with its interval and in words."""
    from askwise.report.decisions import count_text, in_words, title, which_label

    counts = show.grid("", f"is {d.label}", f"is {d.other}", texts=[""])
    for key, label in {"called": d.label, "cleared": d.other}.items():
        counts.add_row(*map(Text, [f"called {label}", *map(count_text, d.counts.loc[key])]))
    table = show.grid("measure", "is", "in words", texts=["measure", "in words"])
    for name, words in in_words(d).items():
        table.add_row(*map(Text, [name.replace("_", " "), _value(d, name), words]))
    return [show.titled(title(d), Group(counts, Text(""), table, Text(""), Text(which_label(d))))]


def _value(d: Decisions, name: str) -> str:
    """Write a measure with its interval: a share in percent, the net benefit as a number."""
    from askwise.report.decisions import value_text

    line = d.measures.loc[name]
    if not math.isfinite(line["value"]):
        return "–"
    value = value_text(name, line["value"])
    if "low" not in line:
        return value
    low, high = (value_text(name, line[end]).removesuffix("%") for end in ("low", "high"))
    return f"{value} ({low}–{high})"


def decision_facts(d: Decisions) -> dict[str, Any]:
    """Return everything for JSON."""
    return {
        "label": d.label,
        "other": d.other,
        "chosen": d.chosen,
        "threshold": d.threshold,
        "stopped": d.stopped,
        "persons": d.n_persons,
        "confusion": d.counts.to_dict("index"),
        "measures": d.measures.to_dict("index"),
        "net_benefit": d.curve.to_dict("records"),
    }
