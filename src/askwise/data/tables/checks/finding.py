"""One fault that was found in a table: where, how bad, and what to do."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from enum import IntEnum
from typing import Any

# More findings of one kind than this become one.
MOST_OF_A_KIND = 4
# Stands in an advice for the names of the columns.
COLUMNS = "{columns}"


class Severity(IntEnum):
    """How bad a fault is; the lowest is the worst."""

    SERIOUS = 0  # training stops, or its results are wrong
    WARNING = 1  # results may be worse than they could be
    NOTE = 2  # taken care of, or harmless


@dataclass(frozen=True)
class Finding:
    """A fault: what was found, why it matters, and what to do about it. columns: empty if it is about the rows."""

    kind: str
    columns: tuple[str, ...]
    severity: Severity
    found: str
    why: str
    advice: str

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON holds it."""
        return asdict(self) | {"columns": list(self.columns), "severity": self.severity.name.lower()}


def worst_first(findings: Sequence[Finding]) -> list[Finding]:
    """Return findings in order of severity; many of one kind become one that names all their columns."""
    merged: list[Finding] = []
    for key in dict.fromkeys((f.kind, f.severity) for f in findings):
        same = [f for f in findings if (f.kind, f.severity) == key]
        merged += [_merge(same)] if len(same) > MOST_OF_A_KIND else same
    return sorted(map(_with_columns, merged), key=lambda finding: finding.severity)


def _merge(same: Sequence[Finding]) -> Finding:
    first = same[0]
    columns = tuple(column for finding in same for column in finding.columns)
    found = f"{len(columns)} columns. The first, {first.columns[0]!r}: {first.found[0].lower()}{first.found[1:]}"
    return replace(first, columns=columns, found=found)


def _with_columns(finding: Finding) -> Finding:
    """Write the columns into the advice, as the value of an option that can be typed into a shell."""
    return replace(finding, advice=finding.advice.replace(COLUMNS, shlex.join([",".join(finding.columns)])))
