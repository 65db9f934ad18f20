"""Schema: the columns of a table, and the groups they form."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from askwise.core.arrays import Array
from askwise.core.costs import costs_from_dict, costs_to_dict
from askwise.core.errors import AskwiseError, listed, unknown_name
from askwise.core.features import FeatureSpace
from askwise.data.tables.answers import AnswerWords, with_answers
from askwise.data.tables.column import CATEGORY, Column, describe
from askwise.data.tables.encoding import encode_column
from askwise.data.tables.groups import GroupSpec, as_list, find_column, group_members
from askwise.data.tables.odd_messages import raise_refused, warn_of_unseen
from askwise.data.tables.odd_values import OddValues
from askwise.data.tables.prices import Price, group_costs
from askwise.data.tables.questions import QuestionSpec, Wording, read_words

if TYPE_CHECKING:
    from askwise.core.rows import Rows


# The inputs that say whether a column is there.
THERE, NOT_THERE = 1.0, -1.0


@dataclass(frozen=True)
class Schema:
    """All columns of a table, and the space of groups that can be asked.

    `wording` has the texts, units and help that were given, by the name of a column or group. presence_of: the numbers
    of columns of which it is an input too whether they are there; the space has a column more for each of these.
    """

    columns: tuple[Column, ...]
    space: FeatureSpace
    named: bool
    wording: Mapping[str, Wording] = field(default_factory=dict, hash=False)
    presence_of: tuple[int, ...] = ()

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
        return tuple(c.name for c, g in zip(self.columns, self.space.group_of_column, strict=False) if g < 0)

    @cached_property
    def _columns_of(self) -> dict[str, tuple[Column, ...]]:
        members = zip(self.space.names, self.space.members, strict=True)
        n = len(self.columns)
        return {group: tuple(self.columns[c] for c in columns if c < n) for group, columns in members}

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

    def encode(self, frame: pd.DataFrame, odd: OddValues | None = None) -> Rows:
        """Rows without answers: missing values are absent, and so are categories never seen in training.

        Values that limits refuse are an error that names them. Numbers outside what was seen in training, and
        categories never seen there, are a warning each. odd: gathers them in place of the warnings; refused values
        too, if it allows them.
        """
        x = np.zeros((len(frame), self.space.n_entries), dtype=np.float32)
        present = np.zeros((len(frame), self.space.n_columns), dtype=bool)
        entry, found = 0, OddValues() if odd is None else odd
        for c, column in enumerate(self.columns):
            width = column.n_entries
            present[:, c] = encode_column(column, frame.iloc[:, c], x[:, entry : entry + width], found)
            entry += width
        self._put_presence(x, present)
        if not found.allow_refused:
            raise_refused(found, frame.index)
        if odd is None:
            warn_of_unseen(found, frame.index)
        return rows_of(self.space, x, present)

    def with_edges(self, edges: Sequence[Array]) -> Schema:
        """The same with the numbers of each column cut into parts at these edges of its scaled values."""
        columns = tuple(replace(c, edges=tuple(cut.tolist())) for c, cut in zip(self.columns, edges, strict=False))
        return replace(self, columns=columns, space=_with_entries(self.space, columns))

    def with_presence(self, columns: Sequence[int]) -> Schema:
        """The same where it is an input whether each of these columns, by number, is there: it is evidence."""
        n = len(self.columns)
        groups = (*self.space.group_of_column, *(self.space.group_of_column[c] for c in columns))
        extra = tuple(range(n, n + len(columns)))
        space = replace(self.space, group_of_column=groups, presence_columns=extra)
        return replace(self, space=_with_entries(space, self.columns), presence_of=tuple(columns))

    def rows_with_presence(self, rows: Rows) -> Rows:
        """Rows that were encoded before there were inputs of presence, with these."""
        import torch

        n_added = len(self.presence_of)
        x, present = (
            np.concatenate([part.numpy(), np.zeros((len(rows), n_added), part.numpy().dtype)], 1)
            for part in (rows.x, rows.present)
        )
        self._put_presence(x, present)
        there = torch.from_numpy(present)
        return replace(rows, x=torch.from_numpy(x), present=there, available=self.space.available(there))

    def _put_presence(self, x: Array, present: Array) -> None:
        """Write the inputs of presence, which come last, into encoded rows."""
        if self.presence_of:
            there = present[:, list(self.presence_of)]
            x[:, -len(self.presence_of) :] = np.where(there, THERE, NOT_THERE)
            present[:, -len(self.presence_of) :] = True

    def put(self, name: str, value: Any, x: Array, present: Array) -> None:
        """Write the parsed answer of one column, never None, into a row's x (1, entries) and present (1, columns)."""
        c = self.column_position[name]
        column, entry = self.columns[c], self._first_entry[c]
        present[0, c] = True
        if column.kind == CATEGORY:
            x[0, entry + column.categories.index(value)] = 1.0
        else:
            x[0, entry] = column.scaled(np.float64(value))

    def takes_absence(self, group: str) -> bool:
        """Whether it is an answer that a group can't be had."""
        return any(self.column_position[column.name] in self.presence_of for column in self.columns_of(group))

    def put_presence(self, name: str, is_there: bool, x: Array, present: Array) -> None:
        """Write whether a column is there into a row, if that is an input."""
        c = self.column_position[name]
        if c in self.presence_of:
            place = self.presence_of.index(c) - len(self.presence_of)
            x[0, place], present[0, place] = THERE if is_there else NOT_THERE, True

    def to_dict(self) -> dict[str, Any]:
        space = asdict(replace(self.space, costs=()))
        del space["column_of_entry"], space["edges"], space["presence_columns"]
        space |= costs_to_dict(self.space.costs)
        facts = {"columns": [c.to_dict() for c in self.columns], "space": space, "named": self.named}
        wording = {name: asdict(words) for name, words in self.wording.items()}
        # Without any, the same as before there were wordings: what was told apart by it still is.
        facts |= {"presence_of": list(self.presence_of)} if self.presence_of else {}
        return facts | ({"wording": wording} if wording else {})

    def training_facts(self) -> dict[str, Any]:
        """What training depends on: not the words of questions, nor the limits of answers."""
        facts = {name: value for name, value in self.to_dict().items() if name != "wording"}
        if "columns" in facts:
            facts["columns"] = [{n: v for n, v in column.items() if n != "limits"} for column in facts["columns"]]
        return facts

    @staticmethod
    def from_dict(data: dict[str, Any]) -> Schema:
        columns = tuple(Column.from_dict(c) for c in data["columns"])
        space = {k: tuple(v) for k, v in data["space"].items() if k not in ("costs", "shared")}
        space["costs"] = costs_from_dict(data["space"])
        # A model saved before questions had texts has none.
        wording = {name: Wording(**words) for name, words in data.get("wording", {}).items()}
        presence_of = tuple(data.get("presence_of", ()))
        extra = tuple(range(len(columns), len(columns) + len(presence_of)))
        bare = FeatureSpace(**space, column_of_entry=(), presence_columns=extra)
        return Schema(columns, _with_entries(bare, columns), data["named"], wording, presence_of)

    @staticmethod
    def of(
        frame: pd.DataFrame,
        *,
        named: bool = True,
        costs: Mapping[Any, Price] | Sequence[float] | None = None,
        groups: GroupSpec | None = None,
        free: Sequence[Hashable] | None = None,
        questions: QuestionSpec | None = None,
        categories: Sequence[Hashable] | None = None,
    ) -> Schema:
        """Read a table's types, scales and categories, and lay its columns out in priced groups.

        categories: columns whose numbers are codes.
        """
        names = [str(n) for n in frame.columns]
        twice = sorted({n for n in names if names.count(n) > 1})
        if twice:
            raise AskwiseError(f"columns must have different names; given twice: {listed(twice)}")
        free_columns = [find_column("column in free", f, names) for f in as_list("free", free)]
        members = group_members(names, groups, free_columns)
        group_names = tuple(members)
        if not group_names:
            raise AskwiseError("every column is free, so nothing is left to ask; leave at least one column to be asked")
        costs_of = group_costs(costs, names, members, free_columns)
        group_of_column = tuple(
            next((g for g, group in enumerate(group_names) if n in members[group]), -1) for n in names
        )
        words = read_words(questions, names, members)
        codes = [find_column("column in categories", c, names) for c in as_list("categories", categories)]
        described = [describe(frame.iloc[:, c], name, name in codes) for c, name in enumerate(names)]
        columns = tuple(with_answers(column, words.answers.get(column.name, AnswerWords())) for column in described)
        space = _with_entries(FeatureSpace(group_names, costs_of, group_of_column, ()), columns)
        return Schema(columns, space, named, words.wording)


def rows_of(space: FeatureSpace, x: Array, present: Array) -> Rows:
    """Rows without answers, from x (rows, entries) and present (rows, columns). Torch is imported here, not before."""
    import torch

    from askwise.core.rows import Rows

    there = torch.from_numpy(present)
    return Rows(torch.from_numpy(x), there, space.available(there))


def _with_entries(space: FeatureSpace, columns: Sequence[Column]) -> FeatureSpace:
    """The space with the entries of these columns."""
    extra = space.presence_columns
    entries = tuple(c for c, column in enumerate(columns) for _ in range(column.n_entries)) + extra
    is_cut = any(column.edges for column in columns)
    edges = tuple(() if c in extra else columns[c].edges for c in entries) if is_cut else ()
    return replace(space, column_of_entry=entries, edges=edges)
