"""One column of a table: its kind, its scale, and the answers it takes."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from askwise.core.arrays import Array
from askwise.core.errors import AskwiseError, AskwiseWarning, listed, shortened

NUMBER, BOOLEAN, CATEGORY = "number", "boolean", "category"

MOST_CATEGORIES = 100
# More are kept if they have enough rows to learn from, up to so many.
ENOUGH_ROWS, MOST_FREQUENT_CATEGORIES = 5, 1000

WIDEST = 10.0

TRUE_WORDS = {"true": True, "yes": True, "1": True, "1.0": True, "false": False, "no": False, "0": False, "0.0": False}


@dataclass(frozen=True)
class Column:
    """One column: its kind and how its values become network entries.

    Numbers and booleans are centred and scaled, and cut at ten standard deviations; a category is one-hot.
    `low` and `high` are the range seen in training. stays_within: numbers are cut at that range too, since beyond it
    nothing was learnt; models of before did not.
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

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it; what is not used is left out, so that models of before are as they were."""
        return {name: value for name, value in asdict(self).items() if value or name not in ("edges", "stays_within")}

    @staticmethod
    def from_dict(data: dict[str, Any]) -> Column:
        facts: dict[str, Any] = {n: tuple(value) if isinstance(value, list) else value for n, value in data.items()}
        return Column(**facts)

    @property
    def n_entries(self) -> int:
        return len(self.categories) if self.kind == CATEGORY else 1

    @property
    def allowed(self) -> str:
        """What a person may answer."""
        if self.kind == CATEGORY:
            return f"one of {listed(self.categories, most=30)}"
        return "yes or no" if self.kind == BOOLEAN else "a number"

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
        if is_missing(value):
            return None
        found = self._number(value) if self.kind == NUMBER else self._choice(value)
        if found is None:
            between = ";" if self.kind == CATEGORY else ","
            hint = "; write it with a point and no commas, as 1234.5" if self._has_comma(value) else ""
            raise AskwiseError(f"{self.name!r} takes {self.allowed}{between} was given {shortened(value)}{hint}")
        return found

    def is_outside(self, value: Any) -> bool:
        """Whether an answer is beyond all that was seen in training."""
        return self.kind == NUMBER and not self.low <= value <= self.high

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


def describe(series: pd.Series[Any], name: str) -> Column:
    """Kind, scale and categories of one column of the training data."""
    values = series[series.notna().to_numpy()]
    if not len(values):
        raise AskwiseError(f"column {name!r} has no value in any row; remove it")
    kind = _kind(values, name)
    if kind == CATEGORY:
        return Column(name, kind, categories=_categories(values, name))
    numbers = values.to_numpy(dtype=np.float64)
    check_finite(numbers, name)
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


def ordered(column: Column, choices: Sequence[Any]) -> Column:
    """A column whose categories come in the order of these choices; others that were seen come after them."""
    if not choices:
        return column
    if column.kind != CATEGORY:
        raise AskwiseError(
            f"{column.name!r} takes {column.allowed}, so it has no choices; leave them out, or turn its values into "
            "texts before training"
        )
    keys = [category_key(choice) for choice in choices]
    twice = [key for key in keys if keys.count(key) > 1]
    if twice:
        raise AskwiseError(f"the choices of question {column.name!r} name {twice[0]!r} twice; keep one")
    never = [key for key in keys if key not in column.categories]
    rest = [key for key in column.categories if key not in keys]
    if never:
        seen = listed(column.categories)
        _warn(f"choices of {column.name!r} never seen in training are left out: {listed(never, 5)}; seen: {seen}")
    if rest:
        _warn(f"choices of {column.name!r} that questions does not name come last: {listed(rest, 5)}")
    return replace(column, categories=(*(key for key in keys if key in column.categories), *rest))


def _warn(text: str) -> None:
    warnings.warn(text, AskwiseWarning, stacklevel=4)


def check_finite(numbers: Array, name: str) -> None:
    bad = np.isinf(numbers)
    if bad.any():
        raise AskwiseError(
            f"Input X contains infinity in column {name!r} (row {int(bad.argmax())}); "
            "give a finite number, or leave the value empty where it is not known"
        )
