"""The gaps of a table: which groups tell the answer by being recorded or not, whatever their values are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pandas as pd

from askwise.core.arrays import Array
from askwise.data.tables.presence import PresenceTest, false_discovery_limit

# A group is flagged if it tells more nats than this, and more than chance explains.
LEAST_INFORMATION, FALSE_DISCOVERY_RATE = 0.005, 0.05
# More rows would not change what is found.
MOST_ROWS = 50_000
# Answers that are numbers are cut into so many bins at quantiles.
BINS = 5


@dataclass(frozen=True)
class GroupGaps:
    """What it tells about the answer that a group was recorded.

    present: the share of rows that have the group; information: in nats; p_value: how likely chance tells as much;
    flagged: it tells more than a little, and more than chance explains. answer_high: the answer whose rows have the
    group most beyond chance, answer_low: least; present_high, present_low: the shares of their rows that have it.
    """

    group: str
    present: float
    information: float
    p_value: float
    flagged: bool
    answer_high: str
    present_high: float
    answer_low: str
    present_low: float


def find_gaps(groups: Sequence[str], available: Array, answers: Any, *, has_classes: bool) -> tuple[GroupGaps, ...]:
    """Return what the gaps of each group tell, the most first; without groups that all rows have, or none.

    available (rows, groups): which groups each row has; answers (rows,): labels or numbers, none missing.
    """
    rows = _spread_rows(len(available))
    some = available if len(rows) == len(available) else available[rows]
    codes, names = _coded(pd.Series(answers).iloc[rows], has_classes)
    n_present = np.count_nonzero(some, axis=0)
    test, found = PresenceTest(np.bincount(codes, minlength=len(names))), []
    for g in np.flatnonzero((n_present > 0) & (n_present < len(some))).tolist():
        n_of_answer = np.bincount(codes[some[:, g]], minlength=len(names))
        found.append(_group_gaps(str(groups[g]), test, n_of_answer, names))
    return tuple(sorted(_with_flags(found), key=lambda gaps: -gaps.information))


def flagged_gaps(gaps: Sequence[GroupGaps]) -> list[GroupGaps]:
    """Return the groups whose gaps tell the answer."""
    return [group for group in gaps if group.flagged]


def gaps_of_card(card: Mapping[str, Any]) -> tuple[GroupGaps, ...]:
    """Return the gaps that a model's card tells of; cards of earlier versions tell of none."""
    return tuple(GroupGaps(**facts) for facts in card.get("gaps", []))


def missing_of_card(card: Mapping[str, Any]) -> str:
    """Return what a model made of gaps; those of earlier versions learnt what gaps told."""
    return str(card.get("missing", "ignore"))


def gaps_table(gaps: Sequence[GroupGaps]) -> pd.DataFrame:
    """Return a row for each group."""
    return pd.DataFrame(list(gaps), columns=[part.name for part in fields(GroupGaps)])


def _spread_rows(n_rows: int) -> Array:
    """Return the positions of at most so many rows, evenly spread."""
    count = min(n_rows, MOST_ROWS)
    return np.arange(count) * n_rows // max(count, 1)


def _coded(answers: pd.Series[Any], has_classes: bool) -> tuple[Array, list[str]]:
    """Return answers as whole numbers, and what each of these stands for: a label, or a range of numbers."""
    if has_classes:
        codes, labels = pd.factorize(answers)
        return np.asarray(codes), [str(label) for label in labels]
    numbers = answers.to_numpy(dtype=np.float64)
    cuts = answer_cuts(numbers)
    used, codes = np.unique(np.searchsorted(cuts, numbers, side="right"), return_inverse=True)
    return codes, [_range_text(cuts, int(place)) for place in used]


def answer_cuts(numbers: Array) -> Array:
    """Return the rising numbers at which a new bin of answers begins: quantiles, none of them the least number."""
    larger = numbers[numbers > numbers.min()]
    if not len(larger):
        return np.empty(0)
    # If most numbers are the least one, as in counts that are mostly 0, the others are a bin.
    return np.unique(np.maximum(np.quantile(numbers, np.linspace(0, 1, BINS + 1)[1:-1]), larger.min()))


def _range_text(cuts: Array, place: int) -> str:
    if not len(cuts):
        return "any number"
    if place == 0:
        return f"below {cuts[0]:.4g}"
    if place == len(cuts):
        return f"{cuts[-1]:.4g} or more"
    return f"{cuts[place - 1]:.4g} to {cuts[place]:.4g}"


def _group_gaps(group: str, test: PresenceTest, n_present: Array, names: Sequence[str]) -> GroupGaps:
    """Return what one group tells, not flagged yet. n_present (answers,): how many rows of each answer have it."""
    deviations, share = test.deviations(n_present), n_present / test.n_of_answer
    high, low = int(deviations.argmax()), int(deviations.argmin())
    return GroupGaps(
        group,
        present=int(n_present.sum()) / test.n_rows,
        information=test.information(n_present),
        p_value=test.p_value(n_present),
        flagged=False,
        answer_high=names[high],
        present_high=float(share[high]),
        answer_low=names[low],
        present_low=float(share[low]),
    )


def _with_flags(found: Sequence[GroupGaps]) -> list[GroupGaps]:
    """Flag the groups that tell more than a little, and more than chance explains among so many groups."""
    limit = false_discovery_limit(np.array([gaps.p_value for gaps in found]), FALSE_DISCOVERY_RATE)
    return [replace(gaps, flagged=gaps.p_value <= limit and gaps.information > LEAST_INFORMATION) for gaps in found]
