"""Write a table with every number replaced by its rank: a network then sees what long tails would hide from it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from sklearn.datasets import load_iris

from askwise.data.tables.files import read_table
from benchmarks.shared.options import Options


def ranked(table: pd.DataFrame, target: str) -> pd.DataFrame:
    numbers = [name for name in table.select_dtypes("number").columns if name != target]
    return table.assign(**table[numbers].rank(pct=True))


def main(argv: Sequence[str] | None = None) -> None:
    options = Options(__doc__)
    options.add_data("table", "the table to read")
    options.add_data("target", "the column to leave as it is", smoke="target", type=str)
    options.add_written("--file", Path("ranked.csv"), "CSV to write (default: %(default)s)")
    args = options.read(argv)
    table = load_iris(as_frame=True).frame if args.table is None else read_table(args.table)
    ranked(table, args.target).to_csv(args.file, index=False)


if __name__ == "__main__":
    main()
