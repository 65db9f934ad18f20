"""Columns of a table: the target split off, some dropped, the rest in the order that a model needs."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from askwise.core.errors import AskwiseError, listed, unknown_name

if TYPE_CHECKING:
    import pandas as pd

    from askwise.cli.common import Out
    from askwise.core.tasks import Task
    from askwise.data.tables.odd_values import OddValues
    from askwise.data.tables.schema import Schema


def stem(path: Path) -> str:
    """Return the name of a table's file without its endings: cases for cases.csv.gz."""
    from askwise.data.tables.files import TABLE_TYPES, table_type

    kind = table_type(path)
    name = path.name.removesuffix(".gz")
    return name[: len(name) - len(kind)] if kind in TABLE_TYPES else name


def check_exists(path: Path) -> None:
    """Raise an error if there is nothing at the path."""
    from askwise.data.tables.files import TABLE_TYPES, table_type

    if not path.exists():
        is_file = table_type(path) in (*TABLE_TYPES, ".json")
        raise AskwiseError(f"there is no {'file' if is_file else 'file or folder'} {path}")


def drop_columns(frame: pd.DataFrame, dropped: Sequence[str], label: str) -> pd.DataFrame:
    """Drop columns, each of which must exist. label: what errors call the place that names them."""
    for name in dropped:
        if name not in frame.columns:
            raise unknown_name(f"column in {label}:", name, frame.columns)
    return frame.drop(columns=list(dropped))


def drop_identifiers(frame: pd.DataFrame, named: AbstractSet[str], out: Out) -> pd.DataFrame:
    """Drop text columns that differ in most rows, such as a patient's number, unless an option names them."""
    from askwise.data.tables.checks.dates import has_date_type
    from askwise.data.tables.checks.identifiers import is_text_identifier
    from askwise.data.tables.checks.text_numbers import texts_among_numbers, texts_told

    identifiers = [name for name in frame.columns if name not in named and is_text_identifier(frame[name])]
    for name in identifiers:
        texts = texts_among_numbers(frame[name])
        if len(texts):
            out.note(
                f"Warning: column {name!r} is left out: it holds numbers, and texts among them: {texts_told(texts)}. "
                "Leave these cells empty, or write a number into them, and it is asked"
            )
            continue
        what = "dates" if has_date_type(frame[name]) else "texts"
        out.note(
            f"Column {name!r} is left out: it has {frame[name].nunique()} different {what} in {len(frame)} rows, "
            "as an identifier has. To ask it all the same, give it a price in --costs"
        )
    return frame.drop(columns=identifiers)


def drop_useless(frame: pd.DataFrame, named: AbstractSet[str], out: Out) -> pd.DataFrame:
    """Drop columns without any value, and those with the same value in every row unless an option names them."""
    from askwise.data.tables.checks.useless import constant_columns, empty_columns

    empty = empty_columns(frame)
    constant = [name for name in constant_columns(frame) if name not in named]
    if not empty and not constant:
        return frame
    parts = [f"{listed(empty)} (no value in any row)"] if empty else []
    parts += [f"{listed(constant)} (the same value in every row)"] if constant else []
    sentence = f"left out, since they tell nothing: {' and '.join(parts)}"
    if len(empty) + len(constant) == len(frame.columns):
        raise AskwiseError(f"no column has different values, so there is nothing to learn from; {sentence}")
    out.note(f"Columns {sentence}")
    return frame.drop(columns=[*empty, *constant])


def split_target(frame: pd.DataFrame, target: str, out: Out) -> tuple[pd.DataFrame, pd.Series[Any]]:
    """Return the other columns and the target; rows without a target are dropped, with a note."""
    if target not in frame.columns:
        raise unknown_name("target", target, frame.columns)
    missing = frame[target].isna()
    if missing.all():
        raise AskwiseError(f"the target {target!r} has no value in any row")
    if missing.any():
        out.note(f"{int(missing.sum())} of {len(frame)} rows have no {target!r}; they are left out")
        frame = frame[~missing]
    return frame.drop(columns=target), frame[target].infer_objects()


def align_columns(frame: pd.DataFrame, schema: Schema, path: Path, out: Out, allow_implausible: bool = False) -> Any:
    """Return the columns that a model needs, in its order; notes say what was ignored or moved.

    Values that the model's limits refuse are an error, or missing if they are allowed, with a note.
    """
    needed, given = list(schema.column_names), list(frame.columns)
    missing = [name for name in needed if name not in given]
    if missing:
        raise _missing_columns(path, missing, given)
    extra = [name for name in given if name not in needed]
    if extra:
        out.note(f"ignored, since the model does not use {'it' if len(extra) == 1 else 'them'}: {listed(extra)}")
    if [name for name in given if name in needed] != needed:
        out.note("the columns were put into the model's order")
    ordered = _refused_left_out(frame[needed], schema, path, out, allow_implausible)
    return ordered if schema.named else ordered.to_numpy()


def _refused_left_out(frame: pd.DataFrame, schema: Schema, path: Path, out: Out, allowed: bool) -> pd.DataFrame:
    """Return the table with the values missing that limits refuse; unless they are allowed, raise an error."""
    from askwise.data.tables.odd_messages import refused_message
    from askwise.data.tables.odd_values import REFUSED, UNREADABLE, OddValues

    odd = OddValues(allow_refused=True)
    with naming_file(path):
        schema.encode(frame, odd)
        check_allowed(odd, frame.index, allowed, REFUSED, UNREADABLE)
    if not odd.of_kind(REFUSED, UNREADABLE):
        return frame
    out.note(f"Counted as missing: {_in_file(path)}: {refused_message(odd, frame.index, REFUSED, UNREADABLE)}")
    return odd.without_refused(frame)


def check_allowed(odd: OddValues, index: pd.Index[Any], allowed: bool, *kinds: str) -> None:
    """Raise an error if a table has odd values of these kinds, unless they are allowed. index: labels of its rows."""
    from askwise.data.tables.odd_messages import WHAT_TO_DO, refused_message

    if odd.of_kind(*kinds) and not allowed:
        message = refused_message(odd, index, *kinds)
        raise AskwiseError(f"{message}; {WHAT_TO_DO}, or count them as missing: --allow-implausible")


@contextmanager
def naming_file(path: Path) -> Iterator[None]:
    """Errors about the values of a table name its file."""
    try:
        yield
    except AskwiseError as error:
        raise AskwiseError(f"{_in_file(path)}: {error}") from None


def with_line_numbers(frame: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Return the table of a file with its rows named by their lines, if it is a CSV; Parquet has no lines."""
    from askwise.data.tables.cells import line_numbers
    from askwise.data.tables.files import is_parquet

    return frame if is_parquet(path) else frame.set_axis(line_numbers(frame.index), axis=0)


def _in_file(path: Path) -> str:
    from askwise.data.tables.files import is_parquet

    return f"{path}, where {'the first row is row 0' if is_parquet(path) else 'line 1 is the header'}"


def _missing_columns(path: Path, missing: Sequence[str], given: Sequence[str]) -> AskwiseError:
    near = difflib.get_close_matches(missing[0], given, n=1, cutoff=0.6)
    others = f" (nor {listed(missing[1:], 5)})" if missing[1:] else ""
    hint = f"is it {near[0]!r} there?" if near else f"it has {listed(given)}"
    return AskwiseError(f"{path} has no column {missing[0]!r}{others}, which the model needs; {hint}")


def model_labels(y: pd.Series[Any], task: Task) -> Any:
    """Convert a file's target to the labels of a model: 1, 1.0 and '1' are the same label."""
    from askwise.core.tasks import Classification
    from askwise.data.tables.column import category_key

    if not isinstance(task, Classification):
        return y.to_numpy()
    label_of = {category_key(label): label for label in task.labels}
    labels = [label_of.get(category_key(value), value) for value in y]
    unknown = [label for label in labels if label not in task.labels]
    if unknown:
        raise AskwiseError(
            f"the target {str(y.name)!r} holds {unknown[0]!r}, which the model does not know; "
            f"it knows {listed(task.labels)}"
        )
    return labels


def split_weights(
    X: pd.DataFrame, y: pd.Series[Any], weights: str | None, label: str, out: Out
) -> tuple[Any, pd.DataFrame, pd.Series[Any]]:
    """Return the weights of the rows, and columns and target without that column; rows of weight 0 are dropped.

    label: what errors call the place that names the column.
    """
    from askwise.core.row_weights import check_row_weights
    from askwise.data.tables.cells import row_name

    if weights is None:
        return None, X, y
    rest = drop_columns(X, [weights], label)
    name = f"the column {weights!r} of {label}"
    found = check_row_weights(X[weights], len(X), name, partial(row_name, X.index))
    assert found is not None
    kept = found > 0
    if kept.all():
        return found, rest, y
    out.note(f"{int((~kept).sum())} of {len(X)} rows have a weight of 0 in {weights!r}; they are left out")
    return found[kept], rest[kept], y[kept]


def split_groups(X: pd.DataFrame, split_by: str | None, label: str) -> tuple[Any, pd.DataFrame]:
    """Return the number of each row's group, such as its patient, and the table without that column.

    label: what errors call the place that names the column.
    """
    if split_by is None:
        return None, X
    rest = drop_columns(X, [split_by], label)
    missing = int(X[split_by].isna().sum())
    if missing:
        raise AskwiseError(f"the column {split_by!r} of {label} has no value in {missing} rows; fill it in")
    return X[split_by].factorize()[0], rest
