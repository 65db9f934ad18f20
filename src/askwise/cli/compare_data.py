"""The datasets that `askwise compare` is given: names, tables, images, and suites, each checked as it is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from askwise.cli import images as pictures
from askwise.cli import tables
from askwise.cli.common import Out
from askwise.cli.target import TaskChoice, task_of
from askwise.core.errors import AskwiseError, unknown_name

if TYPE_CHECKING:
    from askwise.studies.compare.data import Dataset

SUITE_TYPE = ".json"
ENTRIES = ("name", "path", "target", "drop", "costs", "groups", "free", "split_by", "task", "metric")
WITH_A_NAME = ("name", "metric")
LISTS = ("drop", "free")
TEXTS = ("name", "path", "target", "split_by", "metric", "task")


@dataclass(frozen=True)
class TableOptions:
    """What options say of the one table, or of the images, given as a file."""

    target: str | None = None
    costs: Path | None = None
    groups: Path | None = None
    free: Sequence[str] = ()
    drop: Sequence[str] = ()
    task: TaskChoice = TaskChoice.auto
    split_by: str | None = None

    def given(self) -> list[str]:
        """The options that were given."""
        named = self.task is not TaskChoice.auto
        texts = ("--target", "--costs", "--groups", "--free", "--drop", "--task", "--split-by")
        values = (self.target, self.costs, self.groups, self.free, self.drop, named, self.split_by)
        return [option for option, value in zip(texts, values, strict=True) if value]


@dataclass(frozen=True)
class Told:
    """What is known of a table, from options or from a suite."""

    target: str
    drop: Sequence[str] = ()
    costs: Mapping[str, float] | None = None
    groups: Mapping[str, Sequence[str]] | None = None
    free: Sequence[str] = ()
    split_by: str | None = None
    task: TaskChoice = TaskChoice.auto
    metric: str = ""
    # What the places are called in which columns are named, for errors.
    word_for_drop: str = "drop"
    word_for_split_by: str = "split_by"


def read_datasets(
    data: Sequence[str], options: TableOptions, shown: pictures.ImageOptions, folder: Path | None, out: Out
) -> list[Dataset]:
    """Every dataset, in the order given."""
    from askwise.studies.compare.data import is_named, named

    kinds = [_kind(text, is_named(text), shown.images) for text in data]
    files = kinds.count("table") + kinds.count("images")
    if options.given() and files != 1:
        raise AskwiseError(
            f"{options.given()[0]} tells of one table, and {files} are given; "
            "tables that differ go into a suite, a JSON file"
        )
    if "images" not in kinds:
        shown.refuse(data[0])
    if folder is not None and "suite" not in kinds:
        raise AskwiseError("--folder is where the tables of a suite lie, and no suite is given; leave it out")
    found: list[Dataset] = []
    for text, kind in zip(data, kinds, strict=True):
        if kind == "name":
            found.append(named(text))
        elif kind == "suite":
            found += _suite(Path(text), folder, out)
        elif kind == "images":
            found.append(_images(Path(text), options, shown, out))
        else:
            found.append(_table_file(Path(text), options, out))
    return found


def check_there(data: Sequence[str], image_column: str | None) -> None:
    """Tell of a dataset that is not there before anything else about it."""
    from askwise.studies.compare.data import is_named

    for text in data:
        if _kind(text, is_named(text), image_column) != "name":
            tables.check_there(Path(text))


def _kind(text: str, is_named: bool, column: str | None) -> str:
    from askwise.data.synthetic import DISTRIBUTIONS
    from askwise.data.tables.public import PUBLIC

    path = Path(text)
    if is_named:
        return "name"
    if path.suffix.lower() == SUITE_TYPE:
        return "suite"
    if path.exists() or path.suffix:
        return "images" if pictures.hold_images(path, column) else "table"
    known = unknown_name("dataset", text, [*PUBLIC, *DISTRIBUTIONS])
    raise AskwiseError(
        f"there is no file or folder {text}, and no dataset has that name: {known}; or give a file: a table (.csv, "
        ".parquet), images (a folder, .npz) or a suite (.json)"
    )


def _table_file(path: Path, options: TableOptions, out: Out) -> Dataset:
    from askwise.data.tables.files import read_costs, read_mapping, read_table

    if options.target is None:
        raise AskwiseError(f"{path} is a table, and nothing tells what to predict; name its column: --target COLUMN")
    frame = read_table(path)
    costs = None if options.costs is None else read_costs(options.costs)
    groups = None if options.groups is None else read_mapping(options.groups, "groups of columns")
    if groups is not None:
        _check_groups(groups, str(options.groups))
    columns = [str(c) for c in frame.columns]
    free, drop = tables.names(options.free, columns), tables.names(options.drop, columns)
    told = Told(
        options.target, drop, costs, groups, free, options.split_by, options.task,
        word_for_drop="--drop", word_for_split_by="--split-by",
    )  # fmt: skip
    return _table(tables.stem(path), frame, told, out)


def _images(path: Path, options: TableOptions, shown: pictures.ImageOptions, out: Out) -> Dataset:
    from askwise.studies.compare.image_data import ImageData

    of_questions = {"--groups": options.groups, "--free": options.free}
    of_rows = {"--drop": options.drop, "--split-by": options.split_by}
    pictures.refuse_table_options(path, shown.images, of_questions, of_rows)
    found = pictures.read_cases(
        out, path, options.target, options.task, options.costs, shown, options.split_by, options.drop
    )
    data = ImageData(pictures.stem(path), found.X, found.y, found.task, found.asked, split_by=found.split_by)
    # Reads patches and prices, and says what is wrong with them.
    _ = data.schema
    return data


def _suite(path: Path, folder: Path | None, out: Out) -> list[Dataset]:
    from askwise.data.tables.files import read_mapping

    entries = read_mapping(path, "datasets")
    if not entries:
        raise AskwiseError(f"{path} holds no dataset; map a name to {{'path': ..., 'target': ...}}")
    found = []
    for name, entry in entries.items():
        try:
            found.append(_entry(name, entry, folder or path.parent, out))
        except AskwiseError as error:
            raise AskwiseError(f"{path}, {name!r}: {error}") from None
    return found


def _entry(name: str, entry: Any, folder: Path, out: Out) -> Dataset:
    """One dataset of a suite."""
    from dataclasses import replace

    from askwise.data.tables.files import read_table
    from askwise.studies.compare.data import TableData, named

    _check_entry(entry)
    if "name" in entry:
        known = named(entry["name"])
        changes = {"name": name} | ({"metric": entry["metric"]} if "metric" in entry else {})
        if "metric" in entry and not isinstance(known, TableData):
            raise AskwiseError("a known distribution is shown by its own metric; leave 'metric' out")
        return replace(known, **changes)  # type: ignore[type-var]
    frame = read_table(folder / entry["path"])
    told = Told(
        entry["target"],
        entry.get("drop", []),
        _costs(entry.get("costs"), folder),
        entry.get("groups"),
        entry.get("free", []),
        entry.get("split_by"),
        TaskChoice(entry.get("task", "auto")),
        entry.get("metric", ""),
    )
    return _table(name, frame, told, out)


def _check_entry(entry: Any) -> None:
    if not isinstance(entry, dict):
        raise AskwiseError(f"a dataset is a mapping such as {{'path': ..., 'target': ...}}, not {entry!r}")
    allowed = WITH_A_NAME if "name" in entry else ENTRIES
    for key in entry:
        if key not in allowed:
            raise unknown_name("entry", key, allowed)
    for key in ("path", "target"):
        if "name" not in entry and key not in entry:
            raise AskwiseError(f"it has no {key!r}; give the path of a table and its target, or the name of a dataset")
    for key in TEXTS:
        if key in entry and not isinstance(entry[key], str):
            raise AskwiseError(f"{key!r} must be a text, it is {entry[key]!r}")
    for key in LISTS:
        if not _is_texts(entry.get(key, [])):
            raise AskwiseError(f"{key!r} must be a list of columns' names, it is {entry[key]!r}")
    if entry.get("groups") is not None:
        _check_groups(entry["groups"], "'groups'")
    if entry.get("task", "auto") not in list(TaskChoice):
        raise unknown_name("task", entry["task"], list(TaskChoice))


def _check_groups(groups: Any, where: str) -> None:
    if not isinstance(groups, dict):
        raise AskwiseError(f"{where} must map a group's name to a list of columns' names, it is {groups!r}")
    for group, columns in groups.items():
        if not _is_texts(columns):
            raise AskwiseError(f"{where} must give a list of columns' names for {group!r}, it gives {columns!r}")


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def _costs(given: Any, folder: Path) -> dict[str, float] | None:
    """Prices of a suite: a mapping of names to prices, a file, or a file and the key that holds them there."""
    from askwise.data.tables.files import read_costs, read_mapping

    if given is None:
        return None
    if isinstance(given, str):
        return read_costs(folder / given)
    if not isinstance(given, dict):
        raise AskwiseError(f"'costs' takes a mapping of names to prices or a file, it is {given!r}")
    if set(given) != {"file", "key"}:
        return given
    for key, value in given.items():
        if not isinstance(value, str):
            raise AskwiseError(f"the {key!r} of 'costs' must be a text, it is {value!r}")
    held = read_mapping(folder / given["file"], "prices")
    if given["key"] not in held:
        raise unknown_name(f"key of {given['file']}:", given["key"], held)
    prices = held[given["key"]]
    if not isinstance(prices, dict):
        raise AskwiseError(f"{given['file']} holds {prices!r} for {given['key']!r}; give a mapping of names to prices")
    return prices


def _table(name: str, frame: Any, told: Told, out: Out) -> Dataset:
    """A table with its target apart, without what is dropped and without identifiers; its questions are checked."""
    from askwise.studies.compare.data import TableData

    X, y = tables.apart(frame, told.target, out)
    people, X = tables.people(X, told.split_by, told.word_for_split_by)
    X = tables.without(X, told.drop, told.word_for_drop)
    in_groups = [column for columns in (told.groups or {}).values() for column in columns]
    X = tables.without_identifiers(X, {*(told.costs or {}), *in_groups, *told.free}, out)
    chosen, answers = task_of(y, told.task, out)
    data = TableData(name, X, answers, chosen, told.costs, told.groups, told.free, told.metric, people)
    # Reads types, groups and prices, and says what is wrong with them.
    _ = data.schema
    return data
