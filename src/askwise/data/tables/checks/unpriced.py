"""Questions without a price, where others have one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from askwise.data.tables.checks.finding import Finding, Severity
from askwise.data.tables.groups import as_list, group_members
from askwise.data.tables.prices import group_costs, unpriced_groups

KIND = "no-price"


def find_unpriced(X: pd.DataFrame, asked: Mapping[str, Any]) -> list[Finding]:
    """Find questions that have no price, unless 1 is what all others cost; prices that can't be are an error.

    asked: the arguments `costs`, `groups` and `free` of an estimator, as far as they are given.
    """
    names, free, costs = [str(name) for name in X.columns], as_list("free", asked.get("free")), asked.get("costs")
    members = group_members(names, asked.get("groups"), free)
    group_costs(costs, names, members, free)
    why, advice = "It costs 1.", "Give it a price in --costs, or nothing to do if 1 is right."
    return [
        Finding(KIND, (name,), Severity.NOTE, "No price, while others have one.", why, advice)
        for name in unpriced_groups(costs or {}, members)
    ]
