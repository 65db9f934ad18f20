"""What gaps tell, in words."""

from __future__ import annotations

from collections.abc import Sequence

from askwise.data.tables.gaps import GroupGaps, flagged_gaps

# How many groups a warning names.
MOST_NAMED = 3
IN_USE = "In use, where askwise decides what is asked, it tells nothing of the kind, but the model has learnt it"
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


def warning_text(gaps: Sequence[GroupGaps]) -> str:
    """Return a warning of at most three lines about the groups that are flagged; empty if none is."""
    lines = [
        f"{group.group!r} was {recorded_text(group)}: that it was recorded tells {group.information:.3f} nats"
        for group in flagged_gaps(gaps)
    ]
    if not lines:
        return ""
    lines[0] += f". {IN_USE}; {SEE}"
    n_more = len(lines) - MOST_NAMED
    if n_more > 0:
        lines[MOST_NAMED - 1] += f"; and {n_more} more {'group' if n_more == 1 else 'groups'}"
    return "\n".join(lines[:MOST_NAMED])
