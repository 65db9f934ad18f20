"""What a column's name says: whether it is that of a person, an identifier, or like another name."""

from __future__ import annotations

import re

PERSONS = frozenset(
    [
        "account", "applicant", "borrower", "client", "customer", "donor", "driver", "employee", "family", "household",
        "individual", "member", "owner", "participant", "patient", "person", "policyholder", "pupil", "respondent",
        "student", "subject", "user", "worker",
    ]
)  # fmt: skip
PERSONAL = frozenset(["ssn", "mrn", "email", "mail", "phone", "passport"])
IDENTIFIERS = frozenset(["id", "ids", "identifier", "uuid", "guid"])
NUMBERED = frozenset(["no", "nr", "num", "number", "code", "key", "name"])
# A shorter name, such as y, stands among the words of too many others by chance.
SHORTEST_NAME = 3


def names_a_person(name: str) -> bool:
    """Whether a column's name is that of a person, or of a person's number: patient, customer_no, userId."""
    words = words_of(name)
    if not words:
        return False
    last = words[-1]
    if _is_one_of(last, PERSONS | PERSONAL) or (last.endswith("id") and last[:-2] in PERSONS):
        return True
    return len(words) > 1 and last in IDENTIFIERS | NUMBERED and _is_one_of(words[-2], PERSONS)


def names_an_identifier(name: str) -> bool:
    """Whether a column's name says that it numbers something: id, visit_id, patient_no."""
    words = words_of(name)
    if not words:
        return False
    last = words[-1]
    return last in IDENTIFIERS or (names_a_person(name) and not _is_one_of(last, PERSONS))


def words_of(name: str) -> list[str]:
    """Return the words of a column's name in lower case: patientId and patient_id have two."""
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_]+|\d+", name)]


def _is_one_of(word: str, words: frozenset[str]) -> bool:
    return word in words or word.removesuffix("s") in words


def is_named_like(name: str, target: str) -> bool:
    """Whether a column's name is the target's, or has it among its words: diagnosis_code and diagnosis."""
    words, of_target = words_of(name), words_of(target)
    if "".join(words) == "".join(of_target):
        return True
    if len("".join(of_target)) < SHORTEST_NAME:
        return False
    starts = range(len(words) - len(of_target) + 1)
    return any(words[start : start + len(of_target)] == of_target for start in starts)
