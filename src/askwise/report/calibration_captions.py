"""The captions of a report's pictures of calibration: what each shows and how to read it."""

from __future__ import annotations

import pandas as pd

from askwise.report.page import counted
from askwise.report.plots.calibration import MOST_POINTS


def reliability(budget: str, n_cases: int, is_classes: bool) -> str:
    at_budget = f"Predictions at budget {budget}, in at most ten bins of about equally many cases, with 95% intervals. "
    if not is_classes:
        return at_budget + "On the dashed line predictions are right on average."
    return at_budget + (
        "Below the dashed line the model is surer than it is right, above it less sure. ECE is the mean distance "
        f"to that line; with {counted(n_cases, 'case')} chance alone keeps it above 0, so it is to be compared with "
        "that of a perfect model that makes these very predictions: its mean, and what it exceeds in 5% of draws."
    )


def information(budget: str, asked: pd.DataFrame, is_classes: bool) -> str:
    caption = (
        f"{counted(len(asked), 'question')} asked of {counted(asked['row'].nunique(), 'case')} up to budget "
        f"{budget}, in at most ten bins of what they were predicted to tell, with 95% intervals. On the dashed "
        "line an estimate is what came of it on average; realised over predicted is the mean of all that came over "
        "the mean of all that was predicted. The question asked is the one that looked best, so a little less than "
        "predicted is no surprise."
    )
    if is_classes:
        caption += (
            " Loss is measured with the true answer; entropy is the model's own doubt, which falls faster than the "
            "loss where it is overconfident."
        )
    return caption


def bound(asked: pd.DataFrame) -> str:
    drawn = f" {MOST_POINTS:,} of {len(asked):,} are drawn, spread evenly." if len(asked) > MOST_POINTS else ""
    return (
        "Before each of these questions, the largest estimate of all that could be asked. An answer can't tell more "
        f"than there is doubt: what lies above the line, in orange, is impossible.{drawn}"
    )


FULL_INPUT = (
    "Some cases may stay uncertain with everything known. Stopping by confidence would ask all questions of them; "
    "stopping by penalty need not."
)
