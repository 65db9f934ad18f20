"""Choices in questions that the table does not have, or the other way round."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import pandas as pd

from askwise.core.errors import AskwiseWarning
from askwise.data.tables.answers import with_answers
from askwise.data.tables.checks.finding import Finding, Severity
from askwise.data.tables.checks.refused import answers_given
from askwise.data.tables.column import CATEGORY, describe

KIND = "choices"


def find_other_choices(X: pd.DataFrame, asked: Mapping[str, Any]) -> list[Finding]:
    """Find columns of texts or codes whose choices are not the values that the table has.

    asked: the arguments `questions`, `groups`, `free` and `categories` of an estimator, as far as they are given.
    """
    answers, codes = answers_given(X, asked)
    findings = []
    for name, given in answers.items():
        if not given.choices or not X[name].notna().any():
            continue
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", AskwiseWarning)
            column = describe(X[name], name, name in codes)
            if column.kind == CATEGORY:
                with_answers(column, given)
        # Of very many texts, describing the column warns, too.
        texts = [str(warning.message) for warning in caught if "choices of" in str(warning.message)]
        findings += [_finding(name, text) for text in texts]
    return findings


def _finding(name: str, text: str) -> Finding:
    why = "An answer can be learnt only if past cases have it, written in the same way."
    advice = "Write the choices in --questions as the table writes its values: value=word gives a value another word."
    return Finding(KIND, (name,), Severity.WARNING, f"{text[0].upper()}{text[1:]}.", why, advice)
