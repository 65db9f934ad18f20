"""Thirty answers that can't be meant, and what is to come of each: refused by a limit, or asked about again."""

from __future__ import annotations

import numpy as np

REFUSED = [
    *(("age", value) for value in (600, -1, 121, 1e6, -40)),
    *(("rate", value) for value in (0, 19, 301, 9000, -150)),
    *(("sex", value) for value in (0, 3, 60, 1.5, -1)),
]
# Outside what was seen in training.
DOUBTED = [
    *(("pressure", value) for value in (20, 400, -10, 1200, 0)),
    *(("scan", value) for value in (40, -30, 1e5)),
    *(("stage", value) for value in (0, 5, 9, 44)),
    *(("site", value) for value in (6, 8, 70)),
]
VALUES = REFUSED + DOUBTED
COLUMNS = list(dict.fromkeys(column for column, _ in VALUES))
TAKES = {"age": "a number from 0 to 120", "rate": "a number from 20 to 300", "sex": "1 (female) or 2 (male)"}
QUESTIONS = {
    "age": {"text": "How old?", "min": 0, "max": 120},
    "rate": {"min": 20, "max": 300, "unit": "bpm"},
    "sex": {"choices": {1: "female", 2: "male"}},
}


def with_codes(frame):
    """The clinic's table with its sexes as codes, and with stages 1 to 4."""
    codes = np.where(frame["sex"] == "female", 1, 2)
    return frame.assign(sex=codes, stage=np.arange(len(frame)) % 4 + 1)
