"""Schema: the columns of a table, their types and scales, and the groups they form."""

from __future__ import annotations

import math
import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
import pandas as pd
import torch

from askwise.data.prices import group_costs
from askwise.data.questions import QuestionSpec, Wording, read_words
from askwise.errors import AskwiseError, AskwiseWarning, listed, shortened, unknown_name
from askwise.features import FeatureSpace, Rows

NUMBER, BOOLEAN, CATEGORY = "number", "boolean", "category"
MOST_CATEGORIES = 100
WIDEST = 10.0
TRUE_WORDS = {"true": True, "yes": True, "1": True, "1.0": True, "false": False, "no": False, "0": False, "0.0": False}

Array = np.ndarray[Any, Any]
GroupSpec = Mapping[str, Sequence[Hashable]]


@dataclass(frozen=True)
class Column:
    """One column: its kind and how its values become network entries.

    Numbers and booleans are centred and scaled, and cut at ten standard deviations; a category is one-hot.
    `low` and `high` are the range seen in training.
    """

    name: str
    kind: str
    center: float = 0.0
    scale: float = 1.0
    low: float = 0.0
    high: float = 0.0
    whole: bool = False
    categories: tuple[str, ...] = ()

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
        # For one number, a minimum of a maximum takes half the time of np.clip.
        return np.minimum(np.maximum((numbers - self.center) / self.scale, -WIDEST), WIDEST)

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


@dataclass(frozen=True)
class Schema:
    """All columns of a table, and the space of groups that can be asked.

    `wording` has the texts, units and help that were given, by the name of a column or group.
    """

    columns: tuple[Column, ...]
    space: FeatureSpace
    named: bool
    wording: Mapping[str, Wording] = field(default_factory=dict, hash=False)

    @cached_property
    def column_names(self) -> tuple[str, ...]:
        return tuple(c.name for c in self.columns)

    @cached_property
    def column_position(self) -> dict[str, int]:
        """The number of each column."""
        return {name: c for c, name in enumerate(self.column_names)}

    @property
    def n_features(self) -> int:
        """What scikit-learn counts as the features of a row."""
        return len(self.columns)

    def column(self, name: str) -> Column:
        return self.columns[self.column_position[name]]

    @cached_property
    def free(self) -> tuple[str, ...]:
        return tuple(c.name for c, g in zip(self.columns, self.space.group_of_column, strict=True) if g < 0)

    @cached_property
    def _columns_of(self) -> dict[str, tuple[Column, ...]]:
        members = zip(self.space.names, self.space.members, strict=True)
        return {group: tuple(self.columns[c] for c in columns) for group, columns in members}

    def columns_of(self, group: str) -> tuple[Column, ...]:
        return self._columns_of[group]

    @cached_property
    def _first_entry(self) -> tuple[int, ...]:
        """The first of each column's entries."""
        return tuple(accumulate((c.n_entries for c in self.columns[:-1]), initial=0))

    def group_of(self, name: str) -> str | None:
        """The group of a group's or a column's name; None for a free column."""
        if name in self.space.position:
            return name
        if name not in self.column_position:
            raise unknown_name("question", name, [*self.space.names, *self.column_names])
        group = self.space.group_of_column[self.column_position[name]]
        return None if group < 0 else self.space.names[group]

    def wording_of(self, name: str) -> Wording:
        """How a column or a group is put to a person; an empty wording where none was given."""
        return self.wording.get(name, Wording())

    def question_wording(self, group: str) -> Wording:
        """How a question is put: a group of one column is put as its column is, where it has no words of its own."""
        columns = self.columns_of(group)
        if len(columns) > 1:
            return replace(self.wording_of(group), unit="")
        own, its = self.wording_of(group), self.wording_of(columns[0].name)
        return Wording(own.text or its.text, its.unit, own.help or its.help)

    def encode(self, frame: pd.DataFrame) -> Rows:
        """Rows without answers: missing values are absent, categories never seen in training too, with a warning."""
        x = np.zeros((len(frame), self.space.n_entries), dtype=np.float32)
        present = np.zeros((len(frame), len(self.columns)), dtype=bool)
        entry = 0
        for c, column in enumerate(self.columns):
            width = column.n_entries
            present[:, c] = _encode(column, frame.iloc[:, c], x[:, entry : entry + width])
            entry += width
        there = torch.from_numpy(present)
        return Rows(torch.from_numpy(x), there, self.space.available(there))

    def put(self, name: str, value: Any, x: Array, present: Array) -> None:
        """Write the parsed answer of one column, never None, into a row's x (1, entries) and present (1, columns)."""
        c = self.column_position[name]
        column, entry = self.columns[c], self._first_entry[c]
        present[0, c] = True
        if column.kind == CATEGORY:
            x[0, entry + column.categories.index(value)] = 1.0
        else:
            x[0, entry] = column.scaled(np.float64(value))

    def to_dict(self) -> dict[str, Any]:
        space = asdict(self.space)
        del space["column_of_entry"]
        facts = {"columns": [asdict(c) for c in self.columns], "space": space, "named": self.named}
        wording = {name: asdict(words) for name, words in self.wording.items()}
        # Without any, the same as before there were wordings: what was told apart by it still is.
        return facts | ({"wording": wording} if wording else {})

    @staticmethod
    def from_dict(data: dict[str, Any]) -> Schema:
        columns = tuple(Column(**{**c, "categories": tuple(c["categories"])}) for c in data["columns"])
        space = {k: tuple(v) for k, v in data["space"].items()}
        # A model saved before questions had texts has none.
        wording = {name: Wording(**words) for name, words in data.get("wording", {}).items()}
        return Schema(columns, FeatureSpace(**space, column_of_entry=_entries(columns)), data["named"], wording)

    @staticmethod
    def of(
        frame: pd.DataFrame,
        *,
        named: bool = True,
        costs: Mapping[Any, float] | Sequence[float] | None = None,
        groups: GroupSpec | None = None,
        free: Sequence[Hashable] | None = None,
        questions: QuestionSpec | None = None,
    ) -> Schema:
        """Read a table's types, scales and categories, and lay its columns out in priced groups."""
        names = [str(n) for n in frame.columns]
        twice = sorted({n for n in names if names.count(n) > 1})
        if twice:
            raise AskwiseError(f"columns must have different names; given twice: {listed(twice)}")
        free_columns = [_find("column in free", f, names) for f in _sequence("free", free)]
        members = _members(names, groups, free_columns)
        group_names = tuple(members)
        if not group_names:
            raise AskwiseError("every column is free, so nothing is left to ask; leave at least one column to be asked")
        costs_of = group_costs(costs, names, members, free_columns)
        group_of_column = tuple(
            next((g for g, group in enumerate(group_names) if n in members[group]), -1) for n in names
        )
        words = read_words(questions, names, members)
        columns = tuple(
            ordered(describe(frame.iloc[:, c], name), words.choices.get(name, ())) for c, name in enumerate(names)
        )
        space = FeatureSpace(group_names, costs_of, group_of_column, _entries(columns))
        return Schema(columns, space, named, words.wording)


def _entries(columns: Sequence[Column]) -> tuple[int, ...]:
    return tuple(c for c, column in enumerate(columns) for _ in range(column.n_entries))


def _sequence(what: str, value: object) -> list[Any]:
    if value is None:
        return []
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise AskwiseError(f"{what} takes a list of column names, was given {value!r}")
    return list(value)


def _find(what: str, name: Any, names: Sequence[str]) -> str:
    """A column by its name or its position."""
    if isinstance(name, (int, np.integer)) and not isinstance(name, bool):
        if -len(names) <= name < len(names):
            return names[int(name)]
        raise AskwiseError(f"unknown {what}: position {name}; there are {len(names)} columns, 0 to {len(names) - 1}")
    if str(name) not in names:
        raise unknown_name(what, name, names)
    return str(name)


def _members(names: Sequence[str], groups: GroupSpec | None, free: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Group name -> column names, in the order of the groups' first columns."""
    if groups is not None and not isinstance(groups, Mapping):
        raise AskwiseError(f"groups takes a mapping of a group's name to its columns, was given {groups!r}")
    group_of: dict[str, str] = {}
    named: dict[str, list[str]] = {}
    for group, columns in (groups or {}).items():
        named[str(group)] = []
        for c in _sequence(f"group {group!r}", columns):
            column = _find(f"column in group {group!r}:", c, names)
            if column in group_of:
                raise AskwiseError(f"column {column!r} is in two groups, {group_of[column]!r} and {group!r}; keep one")
            if column in free:
                raise AskwiseError(f"column {column!r} is free and in group {group!r}; it can't be both")
            group_of[column] = str(group)
            named[str(group)].append(column)
        if not named[str(group)]:
            raise AskwiseError(f"group {group!r} has no columns; name at least one")
        if str(group) in names and str(group) not in named[str(group)]:
            raise AskwiseError(f"group {group!r} has the name of a column that is not in it; choose another name")
    members: dict[str, tuple[str, ...]] = {}
    for name in names:
        if name not in free:
            group = group_of.get(name, name)
            members[group] = tuple(named.get(group, [name]))
    return members


def describe(series: pd.Series[Any], name: str) -> Column:
    """Kind, scale and categories of one column of the training data."""
    values = series[series.notna().to_numpy()]
    if not len(values):
        raise AskwiseError(f"column {name!r} has no value in any row; remove it")
    kind = _kind(values, name)
    if kind == CATEGORY:
        return Column(name, kind, categories=_categories(values, name))
    numbers = values.to_numpy(dtype=np.float64)
    _check_finite(numbers, name)
    center, scale = float(numbers.mean()), float(numbers.std())
    if not math.isfinite(scale):
        raise AskwiseError(f"column {name!r} holds numbers too large to scale (up to {np.abs(numbers).max():.3g})")
    # Relative, so that a column in tiny units is not taken for a constant.
    if scale <= 1e-12 * np.abs(numbers).max():
        scale = 1.0
    whole = bool((numbers == np.round(numbers)).all())
    return Column(name, kind, center, scale, float(numbers.min()), float(numbers.max()), whole)


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
    if len(counts) > MOST_CATEGORIES:
        warnings.warn(
            f"column {name!r} has {len(counts)} different texts; only the {MOST_CATEGORIES} most frequent are kept, "
            "the others count as not available. If it is an identifier, leave it out",
            AskwiseWarning,
            stacklevel=2,
        )
        counts = counts.iloc[:MOST_CATEGORIES]
    kept = set(counts.index)
    if isinstance(values.dtype, pd.CategoricalDtype):
        return tuple(k for k in map(category_key, values.dtype.categories) if k in kept)
    return tuple(sorted(kept))


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


def _check_finite(numbers: Array, name: str) -> None:
    bad = np.isinf(numbers)
    if bad.any():
        raise AskwiseError(
            f"Input X contains infinity in column {name!r} (row {int(bad.argmax())}); "
            "give a finite number, or leave the value empty where it is not known"
        )


def _encode(column: Column, series: pd.Series[Any], out: Array) -> Array:
    """Write one column's entries into `out`; returns which rows are present."""
    if column.kind == CATEGORY:
        codes = _codes(column, series)
        seen = codes >= 0
        out[np.flatnonzero(seen), codes[seen]] = 1.0
        return seen
    numbers = _numbers(column, series)
    here = ~np.isnan(numbers)
    _check_finite(numbers, column.name)
    out[:, 0] = np.where(here, column.scaled(numbers), 0.0)
    return here


def _numbers(column: Column, series: pd.Series[Any]) -> Array:
    numeric = pd.api.types.is_numeric_dtype(series.dtype) and not pd.api.types.is_complex_dtype(series.dtype)
    if numeric and (column.kind == NUMBER or series.dropna().isin([0, 1]).all()):
        return series.to_numpy(dtype=np.float64, na_value=np.nan)
    # In a column of numbers, a table's True is 1 as it was in training.
    values = (int(v) if isinstance(v, (bool, np.bool_)) else v for v in series)
    parsed = [column.parse(v) for v in values]
    return np.array([np.nan if v is None else float(v) for v in parsed], dtype=np.float64)


def _codes(column: Column, series: pd.Series[Any]) -> Array:
    """Position of each row's category; -1 where it is missing or was never seen in training."""
    position = {key: i for i, key in enumerate(column.categories)}
    missing = series.isna().to_numpy()
    uniques, inverse = np.unique(series[~missing].map(category_key).to_numpy(dtype=object), return_inverse=True)
    known = np.array([position.get(u, -1) for u in uniques], dtype=np.int64)
    codes = np.full(len(series), -1, dtype=np.int64)
    codes[~missing] = known[inverse] if len(uniques) else -1
    never = uniques[known < 0] if len(uniques) else uniques
    if len(never) and len(column.categories) < MOST_CATEGORIES:
        warnings.warn(
            f"column {column.name!r}: {listed(never.tolist(), 5)} was never seen in training and counts as "
            f"not available; seen: {listed(column.categories)}",
            AskwiseWarning,
            stacklevel=2,
        )
    return codes
