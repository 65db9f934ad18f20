"""Limits of a column's answers: the least and the largest number, numbers to choose from, and words for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Limits:
    """What the questions say about the answers of one column; what was not given is empty.

    A number beyond minimum or maximum is refused. values: if given, every other number is refused. words: a text for
    each of the values, or for each category; a person may answer with it.
    """

    minimum: float | None = None
    maximum: float | None = None
    values: tuple[float, ...] = ()
    words: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it, without what is empty."""
        return {name: value for name, value in asdict(self).items() if value not in (None, ())}

    @staticmethod
    def from_dict(data: dict[str, Any]) -> Limits:
        facts: dict[str, Any] = {n: tuple(value) if isinstance(value, list) else value for n, value in data.items()}
        return Limits(**facts)

    def allows(self, numbers: Any) -> Any:
        """Whether a number, or each of an array of them, may be answered."""
        if self.values:
            return np.isin(numbers, self.values)
        least = -np.inf if self.minimum is None else self.minimum
        most = np.inf if self.maximum is None else self.maximum
        return (numbers >= least) & (numbers <= most)

    @property
    def refuse_some(self) -> bool:
        """Whether some numbers are refused."""
        return bool(self.values) or self.minimum is not None or self.maximum is not None

    @property
    def numbers(self) -> str:
        """The numbers that may be answered, in words."""
        if self.values:
            return listed_choices([number_text(v) for v in self.values], self.words)
        if self.minimum is None or self.maximum is None:
            at_least = "" if self.minimum is None else f" of at least {number_text(self.minimum)}"
            return f"a number{at_least}" + ("" if self.maximum is None else f" of at most {number_text(self.maximum)}")
        return f"a number from {number_text(self.minimum)} to {number_text(self.maximum)}"

    def position_of_word(self, text: str) -> int | None:
        """The position of the value or category with this word; None if there is none."""
        folded = [word.casefold() for word in self.words]
        return folded.index(text.casefold()) if text.casefold() in folded else None


def number_text(number: float) -> str:
    """A number as a person may type it: without commas, and without a point if it is whole."""
    return f"{number:.10g}"


def measured_text(number: float) -> str:
    """A number of a table: whole, or with six digits."""
    return number_text(number) if float(number).is_integer() else f"{number:.6g}"


def listed_choices(names: Sequence[str], words: Sequence[str]) -> str:
    """Choices as a sentence names them, each followed by its word where it has another: 0 (no) or 1 (yes)."""
    pairs = zip(names, words or names, strict=True)
    texts = [name if name == word else f"{name} ({word})" for name, word in pairs]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} or {texts[-1]}"
