"""Options that several commands share: printing, the model, and how an estimator is trained."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from askwise.core.errors import AskwiseError

ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="A model file, as written by `askwise train`.")]
OtherCosts = Annotated[
    Path | None,
    typer.Option("--costs", metavar="FILE", help="Other prices than in training: CSV (name,cost) or a JSON mapping."),
]
OtherPrior = Annotated[
    list[str] | None,
    typer.Option(
        "--prior",
        metavar="LABEL=SHARE",
        help="How frequent a label is among these cases, if it is another share than in training: sick=.02. It moves "
        "predictions, not questions. Labels that are not named share the rest.",
    ),
]
AllowImplausible = Annotated[
    bool,
    typer.Option(
        "--allow-implausible",
        help="Count values that the questions' limits (min, max, choices) refuse as missing, and texts among numbers, "
        "in place of an error.",
    ),
]
Seed = Annotated[int, typer.Option(min=0, metavar="N", help="The same seed gives the same model on the same machine.")]
Device = Annotated[str, typer.Option(metavar="NAME", help="auto, cpu or cuda.")]
Missing = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="What to make of gaps that tell the answer: auto, the default, corrects those that are found to; "
        "correct corrects all gaps; ignore learns them; evidence, if the same gaps are met in use.",
    ),
]
HiddenNumber = Annotated[int | None, typer.Option(min=1, hidden=True)]


# A label and its share, as in --prior.
_SHARE = re.compile(r"[^=]+=\s*[0-9.]+")


def output_option(help: str, metavar: str = "FILE") -> Any:
    """Return the option -o for the file that a command writes."""
    return typer.Option("--output", "-o", metavar=metavar, help=help)


def parse_prior(given: Sequence[str] | None) -> dict[str, float] | None:
    """Return the shares of labels that --prior gives; None if it was not given."""
    if not given:
        return None
    found: dict[str, float] = {}
    for text in given:
        parts = text.split(",")
        if len(parts) > 1 and all(_SHARE.fullmatch(part.strip()) for part in parts):
            again = " ".join(f"--prior {part.strip()}" for part in parts)
            raise AskwiseError(
                f"--prior takes one label, was given {text!r}; give the option again for each label: {again}"
            )
        label, equals, share = text.rpartition("=")
        try:
            number = float(share)
        except ValueError:
            number = math.nan
        if not equals or not label.strip() or math.isnan(number):
            raise AskwiseError(f"--prior takes a label and its share, as in --prior sick=.02; was given {text!r}")
        if label.strip() in found:
            raise AskwiseError(f"--prior names the label {label.strip()!r} twice; keep one")
        found[label.strip()] = number
    return found


@dataclass(frozen=True)
class PrintOptions:
    """Where and how much a command prints."""

    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object, and nothing else, on standard output.")
    ] = False
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print nothing but errors; `ask` prints its prediction.")
    ] = False


@dataclass(frozen=True)
class LengthOptions:
    """How wide the networks are and how long they are trained; None leaves the method's own default."""

    hidden: Annotated[int | None, typer.Option(min=1, metavar="N", help="Width of the networks' hidden layers.")] = None
    epochs: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Passes over the rows; by default as many as help.")
    ] = None
    pretrain_epochs: HiddenNumber = None

    def given(self) -> dict[str, int]:
        """Return the settings that were given."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True)
class HiddenLengthOptions(LengthOptions):
    """The same for commands whose help does not list them."""

    hidden: HiddenNumber = None
    epochs: HiddenNumber = None


@dataclass(frozen=True)
class MethodOptions:
    """Which method is trained, and its own settings; None leaves the method's own default."""

    name: Annotated[
        str,
        typer.Option(
            "--method",
            metavar="NAME",
            help="How to choose questions: dime, or one of the methods it is compared with, as argmax-direct, eddi or "
            "mrmr; docs/methods.md has them all, and those for images.",
        ),
    ] = "dime"
    budget: Annotated[
        float | None,
        typer.Option(
            metavar="K",
            help="Train for this budget alone: for methods that are published so (the fixed orders, cwcf, "
            "opportunistic).",
        ),
    ] = None
    class_weights: Annotated[
        str | None, typer.Option(metavar="balanced", help="Weigh rare classes up while learning.")
    ] = None
    missing: Missing = None
    scaling: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="How estimates of information are kept in range: bounded by 0 and the prediction's entropy (classes "
            "only, the default there), positive (the default for a number) or none. To compare.",
        ),
    ] = None
    encoding: Annotated[
        str | None,
        typer.Option(
            metavar="auto|raw|N",
            help="Tables: how numbers are read, as they are (raw) or also in N parts; auto, the default, finds out.",
        ),
    ] = None
    lookahead: Annotated[
        str | None,
        typer.Option(
            metavar="auto|0..1",
            help="Tables, dime: how much counts what later questions bring; auto, the default, finds out; 0: nothing.",
        ),
    ] = None

    def given(self) -> dict[str, Any]:
        """Return the settings that were given."""
        given = {name: value for name, value in asdict(self).items() if name != "name" and value is not None}
        return given | {name: _number_or_text(given[name]) for name in ("encoding", "lookahead") if name in given}


@dataclass(frozen=True)
class TrainingOptions:
    """Everything about the training of one estimator."""

    method: MethodOptions = field(default_factory=MethodOptions)
    length: LengthOptions = field(default_factory=LengthOptions)
    seed: Seed = 0
    checkpoint: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Save each epoch here; run the same command again to go on after a stop."),
    ] = None
    device: Device = "auto"

    def arguments(self, known: Collection[str], questions: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of an estimator.

        known: the names of the estimator's parameters. questions: the arguments that say what can be asked.
        """
        options = {**questions, **asdict(self.length), "checkpoint_dir": self.checkpoint, **self.method.given()}
        given = {name: value for name, value in options.items() if value is not None}
        unknown = [name for name in given if name not in known]
        if unknown:
            option = unknown[0].removesuffix("_dir").replace("_", "-")
            why = ": one model serves every budget, as in askwise ask --stop budget=5" if option == "budget" else ""
            raise AskwiseError(f"the method {self.method.name!r} has no --{option}; leave it out{why}")
        return {"random_state": self.seed, "device": self.device} | given


def _number_or_text(text: str) -> int | float | str:
    """Return the value of an option as an estimator takes it, which refuses what it does not know."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
