"""The datasets of `askwise compare`: names, tables, images and suites, each checked as it is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from askwise.cli import images as image_files
from askwise.cli import tables
from askwise.cli.cases import Cases, TableDescription, check_groups, prepare
from askwise.cli.common import Out
from askwise.cli.findings import read_checked_table
from askwise.cli.image_options import ImageOptions
from askwise.cli.table_options import TableOptions
from askwise.cli.target import TaskChoice
from askwise.core.errors import AskwiseError, unknown_name

if TYPE_CHECKING:
    from askwise.studies.compare.data import Dataset

SUITE_TYPE = ".json"
ENTRIES = ("name", "path", "target", "drop", "costs", "groups", "free", "split_by", "weights", "task", "metric")
WITH_A_NAME = ("name", "metric")
LISTS = ("drop", "free")
TEXTS = ("name", "path", "target", "split_by", "weights", "metric", "task")


def read_datasets(
    out: Out, data: Sequence[str], table: TableOptions, images: ImageOptions, folder: Path | None
) -> list[Dataset]:
    """Read every dataset, in the order given. folder: where the tables of a suite lie, if not beside it."""
    from askwise.studies.compare.named_data import named

    kinds = [_kind(text, images.images) for text in data]
    _check_options(data, kinds, table, images, folder)
    datasets: list[Dataset] = []
    for text, kind in zip(data, kinds, strict=True):
        if kind == "name":
            datasets.append(named(text))
        elif kind == "suite":
            datasets += _read_suite(out, Path(text), folder)
        elif kind == "images":
            datasets.append(_read_images(out, Path(text), table, images))
        else:
            cases, _ = read_checked_table(out, Path(text), table)
            datasets.append(_table_data(tables.stem(Path(text)), cases))
    return datasets


def check_exists(data: Sequence[str], image_column: str | None) -> None:
    """Raise an error for a dataset that does not exist, before any other."""
    for text in data:
        if _kind(text, image_column) != "name":
            tables.check_exists(Path(text))


def has_images(data: Sequence[str], image_column: str | None) -> bool:
    """Return whether any of the datasets is one of images."""
    return any(_kind(text, image_column) == "images" for text in data)


def _check_options(
    data: Sequence[str], kinds: Sequence[str], table: TableOptions, images: ImageOptions, folder: Path | None
) -> None:
    """Raise an error for options that no dataset can use."""
    n_files = kinds.count("table") + kinds.count("images")
    # Of images alone, --weights is a file for all of them.
    given = [option for option in table.given() if option != "--weights" or "table" in kinds or not n_files]
    if given and n_files != 1:
        raise AskwiseError(
            f"{given[0]} tells of one table, and {n_files} are given; tables that differ go into a suite, a JSON file"
        )
    if "images" not in kinds:
        images.refuse(data[0])
    if folder is not None and "suite" not in kinds:
        raise AskwiseError("--folder is where the tables of a suite lie, and no suite is given; leave it out")


def _kind(text: str, image_column: str | None) -> str:
    """Return what an argument is: a name, a suite, images or a table."""
    from askwise.data.synthetic import DISTRIBUTIONS
    from askwise.data.tables.public import PUBLIC
    from askwise.studies.compare.named_data import is_named

    path = Path(text)
    if is_named(text):
        return "name"
    if path.suffix.lower() == SUITE_TYPE:
        return "suite"
    if path.exists() or path.suffix:
        return "images" if image_files.holds_images(path, image_column) else "table"
    known = unknown_name("dataset", text, [*PUBLIC, *DISTRIBUTIONS])
    raise AskwiseError(
        f"there is no file or folder {text}, and no dataset has that name: {known}; or give a file: a table (.csv, "
        ".parquet), images (a folder, .npz) or a suite (.json)"
    )


def _read_images(out: Out, path: Path, table: TableOptions, options: ImageOptions) -> Dataset:
    from askwise.studies.compare.image_data import ImageData

    table.refuse(path, options.images)
    cases = image_files.read_image_cases(out, path, table, options)
    data = ImageData(image_files.stem(path), cases.X, cases.y, cases.task, cases.questions, split_by=cases.split_by)
    # Building the schema checks patches and prices.
    _ = data.schema
    return data


def _table_data(name: str, cases: Cases, metric: str = "") -> Dataset:
    from askwise.studies.compare.data import TableData

    questions = {key: cases.questions[key] for key in ("costs", "groups", "free")}
    # Lines of a file name rows to people; a comparison takes rows by their positions.
    X, apart = cases.X.reset_index(drop=True), {"split_by": cases.split_by, "weights": cases.weights}
    data = TableData(name, X, cases.y, cases.task, **questions, metric=metric, **apart)
    # Building the schema checks types, groups and prices.
    _ = data.schema
    return data


def _read_suite(out: Out, path: Path, folder: Path | None) -> list[Dataset]:
    from askwise.data.tables.files import read_mapping

    entries = read_mapping(path, "datasets")
    if not entries:
        raise AskwiseError(f"{path} holds no dataset; map a name to {{'path': ..., 'target': ...}}")
    datasets = []
    for name, entry in entries.items():
        try:
            datasets.append(_read_entry(out, name, entry, folder or path.parent))
        except AskwiseError as error:
            raise AskwiseError(f"{path}, {name!r}: {error}") from None
    return datasets


def _read_entry(out: Out, name: str, entry: Any, folder: Path) -> Dataset:
    """Read one dataset of a suite."""
    from askwise.data.tables.files import read_table
    from askwise.studies.compare import TableData, named

    _check_entry(entry)
    if "name" in entry:
        known = named(entry["name"])
        changes = {"name": name} | ({"metric": entry["metric"]} if "metric" in entry else {})
        if "metric" in entry and not isinstance(known, TableData):
            raise AskwiseError("a known distribution is shown by its own metric; leave 'metric' out")
        return replace(known, **changes)  # type: ignore[type-var]
    path = folder / entry["path"]
    frame = tables.with_line_numbers(read_table(path), path)
    description = TableDescription(
        target=entry["target"], drop=entry.get("drop", []), costs=_read_costs(entry.get("costs"), folder),
        groups=entry.get("groups"), free=entry.get("free", []), split_by=entry.get("split_by"),
        weights=entry.get("weights"), task=TaskChoice(entry.get("task", "auto")),
    )  # fmt: skip
    return _table_data(name, prepare(out, frame, description), entry.get("metric", ""))


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
        if not _is_list_of_texts(entry.get(key, [])):
            raise AskwiseError(f"{key!r} must be a list of columns' names, it is {entry[key]!r}")
    if entry.get("groups") is not None:
        check_groups(entry["groups"], "'groups'")
    if entry.get("task", "auto") not in list(TaskChoice):
        raise unknown_name("task", entry["task"], list(TaskChoice))


def _is_list_of_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def _read_costs(given: Any, folder: Path) -> dict[str, Any] | None:
    """Return the prices of a suite: a mapping of names to prices, a file, or a file and the key that holds them."""
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
    mapping = read_mapping(folder / given["file"], "prices")
    if given["key"] not in mapping:
        raise unknown_name(f"key of {given['file']}:", given["key"], mapping)
    prices = mapping[given["key"]]
    if not isinstance(prices, dict):
        raise AskwiseError(f"{given['file']} holds {prices!r} for {given['key']!r}; give a mapping of names to prices")
    return prices
