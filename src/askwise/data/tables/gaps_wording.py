"""What gaps tell, in words."""

from __future__ import annotations

from collections.abc import Sequence

from askwise.core.errors import listed
from askwise.data.tables.gaps import GroupGaps, flagged_gaps

# How many groups a warning names.
MOST_NAMED = 3
IN_USE = "In use, where askwise decides what is asked, it tells nothing of the kind"
# What a model makes of it, by the setting `missing`.
MADE_OF_IT = {
    "ignore": f"{IN_USE}, but the model has learnt it",
    "auto": f"{IN_USE}: rows are weighed so that the model does not learn it",
    "evidence": "The model takes it for evidence: if a question can't be answered, that moves the prediction",
}
MADE_OF_IT["correct"] = MADE_OF_IT["auto"]
SEE = "what to do: the guide, 'When your table has gaps'"


def answer_texts(gaps: GroupGaps) -> tuple[str, str]:
    """Return the answers with which a group was recorded most and least, each with the share of its rows."""
    digits = _digits(gaps)
    return (
        f"{gaps.answer_high} ({gaps.present_high:.{digits}%})",
        f"{gaps.answer_low} ({gaps.present_low:.{digits}%})",
    )


def recorded_text(gaps: GroupGaps, answer: str = "the answer") -> str:
    """Say in which rows a group was recorded. answer: what the answer is called."""
    digits = _digits(gaps)
    return (
        f"recorded in {gaps.present_high:.{digits}%} of the rows where {answer} is {gaps.answer_high}, and in "
        f"{gaps.present_low:.{digits}%} of those where it is {gaps.answer_low}"
    )


def _digits(gaps: GroupGaps) -> int:
    """Whole percents, unless the two shares would look the same."""
    return 0 if round(100 * gaps.present_high) != round(100 * gaps.present_low) else 1


def effective_rows_text(effective: float, n_rows: int) -> str:
    """Say how many rows of equal weight those that were weighed are worth."""
    return (
        f"Weighed against gaps, the {n_rows:,} rows tell as much with everything known as {effective:,.0f} rows of "
        "equal weight"
    )


def reweighted_title(groups: Sequence[str]) -> str:
    """Say what figures of rows are that were weighed against the gaps of these groups."""
    were = "was" if len(groups) == 1 else "were"
    return f"Weighed so that it says nothing whether {listed(groups, 5)} {were} recorded"


def learnt_text(gaps: Sequence[GroupGaps], missing: str) -> str:
    """Return one line that warns of a model that has learnt from gaps, or goes by them; empty if there are none."""
    names = listed([group.group for group in flagged_gaps(gaps)], 3)
    if not names or missing in ("auto", "correct"):
        return ""
    if missing == "evidence":
        return f"That {names} can't be had moves the prediction, as in the rows it learnt from (missing=evidence)"
    found = f"Warning: in the rows it learnt from, that {names} was recorded tells the answer"
    return f"{found}. {MADE_OF_IT[missing]}; {SEE}"


def warning_text(gaps: Sequence[GroupGaps], missing: str = "ignore") -> str:
    """Return a warning of at most three lines about the groups that are flagged; empty if none is.

    missing: the setting, what is made of it.
    """
    lines = [
        f"{group.group!r} was {recorded_text(group)}: that it was recorded tells {group.information:.3f} nats"
        for group in flagged_gaps(gaps)
    ]
    if not lines:
        return ""
    lines[0] += f". {MADE_OF_IT[missing]}; {SEE}"
    n_more = len(lines) - MOST_NAMED
    if n_more > 0:
        lines[MOST_NAMED - 1] += f"; and {n_more} more {'group' if n_more == 1 else 'groups'}"
    return "\n".join(lines[:MOST_NAMED])
