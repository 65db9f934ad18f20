"""Options of `askwise compare` alone: methods, seeds, budgets and rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from askwise.cli.options import Missing
from askwise.core.errors import AskwiseError

DEFAULT_SEEDS = 5
METHODS_HELP = (
    "Of askwise: dime, eddi, mrmr, cmicot, cwcf, opportunistic, argmax-direct, concrete-autoencoder, random-order, "
    "all-features (everything known), on images also hard-attention. Of scikit-learn, on tables: boosting-best-k "
    "(boosted trees, permutation importance), linear-lasso (logistic or ridge regression, lasso order). On known "
    "distributions: exact."
)


@dataclass(frozen=True)
class StudyOptions:
    """Which trainings are compared, and how."""

    methods: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help=f"Methods, with commas between them; all, the default: every one that can. {METHODS_HELP}",
        ),
    ] = None
    seeds: Annotated[
        list[str] | None,
        typer.Option(
            metavar="N|METHOD=N", help="Splits and trainings of each method, 5 by default; eddi=2 for one method alone."
        ),
    ] = None
    budgets: Annotated[
        str, typer.Option(metavar="auto|NUMBERS", help="Costs to compare at, with commas between them.")
    ] = "auto"
    protocol: Annotated[
        str,
        typer.Option(
            metavar="shared|paper",
            help="paper: where a method is trained for one budget, train one for each. shared: one for all.",
        ),
    ] = "shared"

    missing: Missing = None

    def method_names(self) -> list[str]:
        return [name.strip() for text in self.methods or ["all"] for name in text.split(",") if name.strip()]

    def budget_numbers(self) -> list[float] | None:
        """Return numbers above 0, or None for those that suit the costs."""
        return None if self.budgets.strip() == "auto" else [_budget(part) for part in self.budgets.split(",")]

    def seed_counts(self) -> tuple[int, dict[str, int]]:
        """Return the number of seeds, and the numbers for single methods."""
        count, by_method = DEFAULT_SEEDS, {}
        for text in self.seeds or []:
            name, equals, number = text.rpartition("=")
            if not number.strip().isdecimal() or int(number) < 1 or (equals and not name.strip()):
                raise AskwiseError(f"--seeds takes a whole number of at least 1, as in 5 or eddi=2; was given {text!r}")
            if equals:
                by_method[name.strip()] = int(number)
            else:
                count = int(number)
        return count, by_method


def _budget(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or number <= 0:
        raise AskwiseError(f"--budgets takes auto or numbers above 0, as in 1,2,5; was given {text.strip()!r}")
    return number


@dataclass(frozen=True)
class StudyDataOptions:
    """Where a suite's tables lie, and which rows and metric are used."""

    folder: Annotated[
        Path | None,
        typer.Option("--folder", metavar="FOLDER", help="Where a suite's tables lie; by default beside the suite."),
    ] = None
    metric: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="What to show; by default accuracy, AUROC for two classes, RMSE for a number."
        ),
    ] = None
    max_rows: Annotated[int, typer.Option(min=20, metavar="N", help="Rows to fit on, at most.")] = 8000
    test_rows: Annotated[int, typer.Option(min=10, metavar="N", help="Rows to test on, at most; else a fifth.")] = 5000
