"""Groups of columns that tell the answer by being recorded or not, whatever their values are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from askwise.core.arrays import Array
from askwise.data.tables.checks.checked_table import CheckedTable
from askwise.data.tables.checks.finding import COLUMNS, Finding, Severity
from askwise.data.tables.checks.useless import has_one_value
from askwise.data.tables.gaps import GroupGaps, find_gaps, flagged_gaps
from askwise.data.tables.gaps_wording import IN_USE, recorded_text

KIND = "informative-gaps"
WHY = f"{IN_USE}."
ADVICE = (
    "`askwise train` corrects it: rows are weighed so that being recorded says nothing. If those who use the model "
    f"will meet the same gaps: --missing evidence. To be safe: --drop {COLUMNS}, or rows in which it was measured by "
    "protocol."
)


def find_informative_gaps(table: CheckedTable) -> list[Finding]:
    """Find groups whose gaps tell the answer, more than chance explains; the most first.

    Columns with one value only are left out: if an empty cell means no, it is no gap.
    """
    groups = {name: columns for name, columns in _groups(table).items() if not _is_mark(table, columns)}
    if not groups or table.y.nunique() < 2:
        return []
    available = np.stack([_available(table, columns) for columns in groups.values()], axis=1)
    gaps = find_gaps(list(groups), available, table.y, has_classes=table.has_classes)
    return [_finding(group, groups[group.group], table.target) for group in flagged_gaps(gaps)]


def _groups(table: CheckedTable) -> dict[str, list[str]]:
    """Return what is asked together: groups that options name, and each other column that is not free."""
    here = set(table.X.columns)
    groups = {name: [column for column in columns if column in here] for name, columns in table.groups.items()}
    grouped = {column for columns in groups.values() for column in columns}
    alone = {name: [name] for name in table.X.columns if name not in grouped and name not in table.free}
    return {name: columns for name, columns in groups.items() if columns} | alone


def _is_mark(table: CheckedTable, columns: Sequence[str]) -> bool:
    return len(columns) == 1 and has_one_value(table.X[columns[0]])


def _available(table: CheckedTable, columns: Sequence[str]) -> Array:
    """Whether each row has the group: at least one of its columns, as in `FeatureSpace.available`."""
    return np.logical_or.reduce([table.X[name].notna().to_numpy() for name in columns])


def _finding(gaps: GroupGaps, columns: Sequence[str], target: str) -> Finding:
    text = recorded_text(gaps, repr(target))
    found = f"{text[0].upper()}{text[1:]}: that alone tells {gaps.information:.3f} nats."
    return Finding(KIND, tuple(columns), Severity.WARNING, found, WHY, ADVICE)
