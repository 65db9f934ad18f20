"""The record of a stored session as JSON and as CSV."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

from askwise.service.storage import Record

# The page's records begin with the same columns: web/record.js.
COLUMNS = (
    "seq",
    "at",
    "kind",
    "name",
    "answers",
    "value",
    "cost",
    "value_per_cost",
    "spent",
    "reason",
    "prediction",
    "proba",
    "fingerprint",
)


def record_json(record: Record) -> dict[str, Any]:
    start = record.start
    about = {name: start[name] for name in ("id", "created", "model", "fingerprint")}
    events = [{name: value for name, value in event.items() if name != "session"} for event in record.events]
    return about | {"stop": start["terms"]["stop"], "costs": start["terms"]["costs"] or {}, "events": events}


def record_csv(record: Record) -> str:
    """One line per event. Objects are JSON within their cell; rankings are left out."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\r\n")
    writer.writeheader()
    for event in record.events:
        body = event["body"]
        prediction = body.get("prediction") or {}
        found = {**body, **{name: event[name] for name in ("seq", "at", "kind", "fingerprint")}}
        found |= {"prediction": prediction.get("value"), "proba": prediction.get("proba")}
        writer.writerow({name: _cell(found.get(name)) for name in COLUMNS})
    return text.getvalue()


def _cell(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, (dict, list)) else value
