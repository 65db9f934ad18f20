"""What a session knows, as JSON holds it: one form for the command line, the service and its page."""

from __future__ import annotations

from typing import Any

from askwise.core.step import NOTHING_LEFT
from askwise.core.stopping import RULES, expected_cost, least_value, rule_text
from askwise.model.description import question_facts
from askwise.session.session import Session

STOPPED_BY_USER = "stopped-by-user"
# Each reason in words: those of rules are the rules' own.
WHY = {
    **{name: rule.why for name, rule in RULES.items() if rule.why},
    NOTHING_LEFT: "nothing is left to ask",
    STOPPED_BY_USER: "it was stopped",
    "end-of-input": "the answers ended here",
}


def in_words(reason: str) -> str:
    """Why it is time to stop; a rule of one's own is called by its name."""
    return WHY.get(reason, reason)


def prediction_facts(session: Session) -> dict[str, Any]:
    """The prediction: its value and, for classes, the probability of each label as text."""
    value, proba = session.prediction
    return {"value": value, "proba": None if proba is None else {str(label): p for label, p in proba.items()}}


def ranking_facts(session: Session) -> list[dict[str, Any]]:
    """Every open question, the best first; `ranked_by` says by which number."""
    return [candidate._asdict() for candidate in session.ranking]


def rule_facts(session: Session) -> dict[str, Any]:
    """The rule that is run, and what it is expected to spend on average where it stands for an average cost."""
    rule = session.rule
    expected = expected_cost(rule)
    return {
        "rule": None if rule is None else rule_text(rule),
        "expected_cost": None if expected is None else expected._asdict(),
    }


def least_value_now(session: Session) -> float | None:
    """The least value per cost for which the rule still asks now, None where it sets none."""
    proba = session.prediction.proba
    return least_value(session.rule, None if proba is None else 1 - max(proba.values()), session.spent)


def session_facts(session: Session) -> dict[str, Any]:
    """Everything a session knows now. It depends on what was said, never on the order in which it was said."""
    schema, question = session.model.schema, session.ask()
    given, declined = session.answers, set(session.declined)
    said = {column.name: given[column.name] for column in schema.columns if column.name in given}
    asked = None
    if question is not None:
        worth = {name: getattr(question, name) for name in ("value", "value_per_cost", "lookahead_per_cost")}
        asked = question_facts(schema, question.name, question.cost, question.own_cost) | worth
    return {
        "question": asked,
        "ranking": ranking_facts(session),
        "ranked_by": session.ranked_by,
        "prediction": prediction_facts(session),
        "entropy": session.entropy,
        "spent": session.spent,
        "stopped": question is None,
        "reason": session.reason,
        "why": None if session.reason is None else in_words(session.reason),
        **rule_facts(session),
        "answers": said,
        "declined": [name for name in schema.space.names if name in declined],
        "remarks": session.remarks,
    }
