"""Values that the limits of questions refuse: training stops at them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from askwise.data.tables.answers import AnswerWords, with_answers
from askwise.data.tables.cells import row_name
from askwise.data.tables.checks.checked_table import CheckedTable
from askwise.data.tables.checks.finding import Finding, Severity
from askwise.data.tables.checks.numbers import holds_numbers, numbers_of
from askwise.data.tables.column import Column, describe
from askwise.data.tables.groups import as_list, group_members
from askwise.data.tables.limits import number_text
from askwise.data.tables.odd_values import REFUSED, OddColumn, OddValues
from askwise.data.tables.questions import read_words

MOST_NAMED = 3


def limited_columns(X: pd.DataFrame, asked: Mapping[str, Any]) -> tuple[Column, ...]:
    """Return the columns of numbers for which questions set limits.

    asked: the arguments `questions`, `groups`, `free` and `categories` of an estimator, as far as they are given.
    """
    answers, codes = answers_given(X, asked)
    return tuple(
        with_answers(describe(X[name], name), given)
        for name, given in answers.items()
        # Infinite numbers are found by another check.
        if name not in codes and holds_numbers(X[name]) and not np.isinf(numbers_of(X[name])).any()
    )


def answers_given(X: pd.DataFrame, asked: Mapping[str, Any]) -> tuple[dict[str, AnswerWords], list[Any]]:
    """Return what questions say about the answers of columns, by their names, and the columns of codes."""
    names = [str(name) for name in X.columns]
    members = group_members(names, asked.get("groups"), as_list("free", asked.get("free")))
    return read_words(asked.get("questions"), names, members).answers, as_list("categories", asked.get("categories"))


def find_refused(table: CheckedTable) -> list[Finding]:
    """Find numbers that limits refuse."""
    odd = OddValues(allow_refused=True)
    for column in table.limited:
        if column.name in table.X.columns:
            odd.plausible_numbers(column, numbers_of(table.X[column.name]))
    return [_finding(found, table.X.index) for found in odd.of_kind(REFUSED)]


def _finding(found: OddColumn, index: pd.Index[Any]) -> Finding:
    named = zip(found.values[:MOST_NAMED], found.rows[:MOST_NAMED], strict=True)
    texts = [f"{number_text(value)} in {row_name(index, row)}" for value, row in named]
    more = f" and {len(found.rows) - MOST_NAMED} more" if len(found.rows) > MOST_NAMED else ""
    says = f"{', '.join(texts)}{more}; its question takes {found.column.allowed}."
    why = "Limits refuse such a value; training stops."
    advice = "Correct it, or leave the cell empty where the value is not known. Or change the limits in --questions."
    return Finding("refused", (found.column.name,), Severity.SERIOUS, says, why, advice)
