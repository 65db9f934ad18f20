"""Columns that hold dates or times, also those that write them as text or as a whole number."""

from __future__ import annotations

import datetime
import re
from typing import Any

import numpy as np
import pandas as pd

from askwise.data.tables.checks.checked_table import CheckedTable
from askwise.data.tables.checks.finding import COLUMNS, Finding, Severity
from askwise.data.tables.checks.identifiers import is_text_identifier
from askwise.data.tables.checks.numbers import holds_whole_numbers, numbers_of

MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
TIME = r"\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?\s*([ap]\.?m\.?)?\s*(z|utc|[+-]\d{2}:?\d{2})?"
DATES = (
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}",  # 2024-03-31
    r"\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2})",  # 31/03/2024
    r"\d{4}[-/](0[1-9]|1[0-2])",  # 2024-03
    rf"\d{{1,2}}\.?[- ]{MONTH},?[- ]\d{{2,4}}",  # 31 March 2024
    rf"{MONTH} \d{{1,2}}(st|nd|rd|th)?,? \d{{4}}",  # March 31, 2024
)
LOOKS_LIKE_A_DATE = re.compile(rf"(({'|'.join(DATES)})([t ,]\s*{TIME})?|{TIME})", re.IGNORECASE)
SHARE_OF_DATES = 0.95
# Whole numbers between these with a month and a day, as 20240331.
FIRST_DAY, LAST_DAY = 1900_01_01, 2100_12_31

WHY = "A date is not a measurement: new cases come later than all that was learnt from."
ADVICE = (
    "Turn it into numbers: columns with the year, the month, or the days since a fixed day or event. "
    f"Or leave it out: --drop {COLUMNS}."
)


def find_dates(table: CheckedTable) -> list[Finding]:
    """Find columns of dates; those that training can't read are serious."""
    findings = []
    for name in table.X.columns:
        values = table.look[name].dropna()
        if not len(values):
            continue
        if has_date_type(values):
            # With nearly all different ones, `askwise train` leaves the column out as it does identifiers.
            stops = not is_text_identifier(table.X[name])
            found = "Dates or times." + (" Training stops at such a column." if stops else "")
            severity = Severity.SERIOUS if stops else Severity.WARNING
        elif _holds_date_texts(values):
            found, severity = f"Texts that look like dates or times: {values.iloc[0]}.", Severity.WARNING
        elif _holds_date_numbers(values):
            found, severity = f"Whole numbers that look like dates: {int(values.iloc[0])}.", Severity.WARNING
        else:
            continue
        findings.append(Finding("date", (name,), severity, found, WHY, ADVICE))
    return findings


def has_date_type(values: pd.Series[Any]) -> bool:
    """Whether the type of a column is one of dates, times or durations."""
    dtype = values.dtype
    return pd.api.types.is_datetime64_any_dtype(dtype) or pd.api.types.is_timedelta64_dtype(dtype)


def _holds_date_texts(values: pd.Series[Any]) -> bool:
    if pd.api.types.is_numeric_dtype(values.dtype):
        return False
    if isinstance(values.dtype, pd.PeriodDtype) or isinstance(values.iloc[0], (datetime.date, datetime.time)):
        return True
    different = values.astype(str).str.strip().unique()
    return float(np.mean([LOOKS_LIKE_A_DATE.fullmatch(text) is not None for text in different])) >= SHARE_OF_DATES


def _holds_date_numbers(values: pd.Series[Any]) -> bool:
    if not holds_whole_numbers(values):
        return False
    numbers = numbers_of(values)
    if numbers.min() < FIRST_DAY or numbers.max() > LAST_DAY:
        return False
    month, day = numbers // 100 % 100, numbers % 100
    return bool(((month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)).all())
