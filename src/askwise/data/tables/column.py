"""One column of a table: its kind, its scale, and the answers it takes."""

from __future__ import annotations

import math
import warnings
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from askwise.core.arrays import Array
from askwise.core.errors import AskwiseError, AskwiseWarning, listed, shortened
from askwise.data.tables.cells import unreadable
from askwise.data.tables.limits import Limits, listed_choices, measured_text, number_text

NUMBER, BOOLEAN, CATEGORY = "number", "boolean", "category"

MOST_CATEGORIES = 100
# More are kept if they have enough rows to learn from, up to so many.
ENOUGH_ROWS, MOST_FREQUENT_CATEGORIES = 5, 1000

WIDEST = 10.0

# Whole numbers are offered as choices if they are at most so many.
MOST_OFFERED = 6
NO_LIMITS = Limits()

TRUE_WORDS = {"true": True, "yes": True, "1": True, "1.0": True, "false": False, "no": False, "0": False, "0.0": False}


@dataclass(frozen=True)
class Column:
    """One column: its kind and how its values become network entries.

    Numbers and booleans are centred and scaled, and cut at ten standard deviations; a category is one-hot.
    `low` and `high` are the range seen in training. stays_within: numbers are cut at that range too, since beyond it
    nothing was learnt; files of earlier versions do not have it. limits: what the questions say about answers.
    """

    name: str
    kind: str
    center: float = 0.0
    scale: float = 1.0
    low: float = 0.0
    high: float = 0.0
    whole: bool = False
    categories: tuple[str, ...] = ()
    edges: tuple[float, ...] = ()
    stays_within: bool = False
    limits: Limits = NO_LIMITS

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it; what is not used is left out, so that models of before are as they were."""
        facts = asdict(self) | {"limits": self.limits.to_dict()}
        return {n: value for n, value in facts.items() if value or n not in ("edges", "stays_within", "limits")}

    @staticmethod
    def from_dict(data: dict[str, Any]) -> Column:
        facts: dict[str, Any] = {n: tuple(value) if isinstance(value, list) else value for n, value in data.items()}
        return Column(**facts | {"limits": Limits.from_dict(facts.get("limits", {}))})

    @property
    def n_entries(self) -> int:
        return len(self.categories) if self.kind == CATEGORY else 1

    @property
    def allowed(self) -> str:
        """What a person may answer."""
        if self.kind == CATEGORY and self.limits.words:
            return listed_choices(self.categories, self.limits.words)
        if self.kind == CATEGORY:
            return f"one of {listed(self.categories, most=30)}"
        return "yes or no" if self.kind == BOOLEAN else self.limits.numbers

    @property
    def offered(self) -> tuple[tuple[Any, str], ...]:
        """Answers to choose from, each with its text: categories, given numbers, or few whole numbers."""
        if self.kind == CATEGORY:
            return tuple(zip(self.categories, self.limits.words or self.categories, strict=True))
        numbers = self.limits.values or (self._whole_numbers if self.kind == NUMBER else ())
        names = [number_text(number) for number in numbers]
        plain = [int(number) if float(number).is_integer() else number for number in numbers]
        return tuple(zip(plain, self.limits.words or names, strict=True))

    @property
    def takes_others(self) -> bool:
        """Whether a number may be answered that is not offered; 0 and 1 alone are taken for codes."""
        ends, limits = (self.low, self.high), (self.limits.minimum, self.limits.maximum)
        return not self.limits.values and ends != ((0.0, 1.0) if limits == (None, None) else limits)

    @property
    def _whole_numbers(self) -> tuple[int, ...]:
        """All whole numbers of the range seen in training, if they are few."""
        if not self.whole or not 1 <= self.high - self.low < MOST_OFFERED:
            return ()
        return tuple(range(int(self.low), int(self.high) + 1))

    def scaled(self, numbers: Any) -> Any:
        """A number, or an array of them, as the network's entry."""
        least, most = self._outermost
        # For one number, a minimum of a maximum takes half the time of np.clip.
        return np.minimum(np.maximum((numbers - self.center) / self.scale, least), most)

    @cached_property
    def _outermost(self) -> tuple[float, float]:
        """The least and the largest entry."""
        if not self.stays_within:
            return -WIDEST, WIDEST
        least, most = ((end - self.center) / self.scale for end in (self.low, self.high))
        return max(least, -WIDEST), min(most, WIDEST)

    def parse(self, value: object) -> float | str | bool | None:
        """One answer as it is meant, None where it is missing; an error where it is impossible."""
        found = self.read(value)
        if self.kind == NUMBER and found is not None and not self.limits.allows(found):
            raise self._refusal(value)
        return found

    def read(self, value: object) -> float | str | bool | None:
        """One value of this kind, None where it is missing; limits are not looked at."""
        if is_missing(value):
            return None
        found = self._number(value) if self.kind == NUMBER else self._choice(value)
        if found is None and isinstance(value, str):
            found = self._worded(value)
        if found is None:
            raise self._refusal(
                value, "; write it with a point and no commas, as 1234.5" if self._has_comma(value) else ""
            )
        return found

    def is_outside(self, value: Any) -> bool:
        """Whether an answer is beyond all that was seen in training."""
        return self.kind == NUMBER and not self.low <= value <= self.high

    @property
    def seen(self) -> str:
        """The range of numbers seen in training, in words."""
        return f"{measured_text(self.low)} to {measured_text(self.high)}"

    def _refusal(self, value: object, hint: str = "") -> AskwiseError:
        between = ";" if self.kind == CATEGORY else ","
        return AskwiseError(f"{self.name!r} takes {self.allowed}{between} was given {shortened(value)}{hint}")

    def _worded(self, text: str) -> float | str | None:
        """The value or category that goes by this word."""
        position = self.limits.position_of_word(text.strip())
        if position is None:
            return None
        return self.limits.values[position] if self.kind == NUMBER else self.categories[position]

    def _has_comma(self, value: object) -> bool:
        return self.kind == NUMBER and isinstance(value, str) and any(c.isdigit() for c in value) and "," in value

    def _number(self, value: Any) -> float | None:
        # To Python True is 1, but who says yes has not understood that a number is asked for.
        if isinstance(value, (bool, np.bool_)):
            return None
        try:
            number = float(value)
        except (TypeError, ValueError):
            return None
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise AskwiseError(f"{self.name!r} takes a finite number, was given {shortened(value)}")
        return number

    def _choice(self, value: object) -> str | bool | None:
        if isinstance(value, (list, dict)):
            return None
        try:
            key = category_key(value)
        except ValueError:
            # Python does not write a whole number of thousands of digits.
            return None
        if self.kind == BOOLEAN:
            return TRUE_WORDS.get(key.lower())
        return key if key in self.categories else {c.casefold(): c for c in self.categories}.get(key.casefold())


def is_missing(value: object) -> bool:
    if value is None or value is pd.NA or value is pd.NaT:
        return True
    return isinstance(value, (float, np.floating)) and math.isnan(value)


def category_key(value: object) -> str:
    """A category's text; 2 and 2.0 are the same, since a missing value turns whole numbers into fractions."""
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return str(value).strip()


def describe(series: pd.Series[Any], name: str, is_category: bool = False) -> Column:
    """Kind, scale and categories of one column of the training data. is_category: numbers in it are codes."""
    values = series[series.notna().to_numpy()]
    if not len(values):
        raise AskwiseError(f"column {name!r} has no value in any row; remove it")
    kind = CATEGORY if is_category else _kind(values, name)
    if kind == CATEGORY:
        return Column(name, kind, categories=_categories(values, name))
    numbers = values.to_numpy(dtype=np.float64)
    check_finite(numbers, name, values.index)
    center, scale = float(numbers.mean()), float(numbers.std())
    if not math.isfinite(scale):
        raise AskwiseError(f"column {name!r} holds numbers too large to scale (up to {np.abs(numbers).max():.3g})")
    # Relative, so that a column in tiny units is not taken for a constant.
    if scale <= 1e-12 * np.abs(numbers).max():
        scale = 1.0
    whole = bool((numbers == np.round(numbers)).all())
    return Column(name, kind, center, scale, float(numbers.min()), float(numbers.max()), whole, stays_within=True)


def _kind(values: pd.Series[Any], name: str) -> str:
    dtype = values.dtype
    if pd.api.types.is_bool_dtype(dtype):
        return BOOLEAN
    if pd.api.types.is_complex_dtype(dtype):
        raise AskwiseError(f"column {name!r}: Complex data not supported")
    if pd.api.types.is_numeric_dtype(dtype):
        return NUMBER
    if isinstance(dtype, pd.CategoricalDtype):
        return CATEGORY
    if pd.api.types.is_datetime64_any_dtype(dtype) or pd.api.types.is_timedelta64_dtype(dtype):
        raise AskwiseError(f"column {name!r} holds dates or times; turn it into a number (days since ..., hour, ...)")
    if pd.api.types.is_string_dtype(dtype) and not pd.api.types.is_object_dtype(dtype):
        return CATEGORY
    types = {type(v) for v in values}
    if types <= {bool, np.bool_}:
        return BOOLEAN
    if all(issubclass(t, (int, float, np.integer, np.floating, np.bool_)) for t in types):
        return NUMBER
    return CATEGORY


def _categories(values: pd.Series[Any], name: str) -> tuple[str, ...]:
    """The texts of a category, in the order of its dtype or sorted; only the most frequent of very many."""
    keys = values.map(category_key).astype(object)
    counts = keys.value_counts()
    n_kept = min(len(counts), MOST_FREQUENT_CATEGORIES, max(MOST_CATEGORIES, int((counts >= ENOUGH_ROWS).sum())))
    if len(counts) > n_kept:
        warnings.warn(
            f"column {name!r} has {len(counts)} different texts; only the {n_kept} most frequent are kept, "
            "the others count as not available. If it is an identifier, leave it out",
            AskwiseWarning,
            stacklevel=2,
        )
        counts = counts.iloc[:n_kept]
    kept = set(counts.index)
    if isinstance(values.dtype, pd.CategoricalDtype):
        return tuple(k for k in map(category_key, values.dtype.categories) if k in kept)
    if pd.api.types.is_numeric_dtype(values.dtype) and not pd.api.types.is_bool_dtype(values.dtype):
        return tuple(sorted(kept, key=float))
    return tuple(sorted(kept))


def edges_at_quantiles(values: Array, n_parts: int) -> Array:
    """Edges of parts that hold about as many of these values each; none if they would be a straight line."""
    if not len(values):
        return np.empty(0)
    found, counts = np.unique(values, return_counts=True)
    # A value that is very frequent, as 0 often is, gets no more than its own part: the others need theirs.
    mass = np.cumsum(np.minimum(counts, len(values) / n_parts))
    last = len(found) - 1
    edges = np.unique(found[np.searchsorted(mass, np.linspace(0, mass[-1], n_parts + 1)).clip(max=last)])
    return edges if len(edges) > 2 else edges[:0]


def check_finite(numbers: Array, name: str, index: pd.Index[Any]) -> None:
    """Raise an error that names the first row with an infinite number. index: the labels of the rows."""
    bad = np.isinf(numbers)
    if bad.any():
        row = int(bad.argmax())
        raise unreadable(index, row, f"{name!r} takes a finite number, was given {numbers[row]}")
