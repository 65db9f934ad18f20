"""A table with every number replaced by its rank: what a network then learns that long tails hid from it."""

from __future__ import annotations

import argparse
from pathlib import Path

from askwise.data.tables.files import read_table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", type=Path)
    parser.add_argument("target", help="the column to leave as it is")
    parser.add_argument("out", type=Path, help="CSV to write")
    args = parser.parse_args()
    table = read_table(args.table)
    numbers = [c for c in table.select_dtypes("number").columns if c != args.target]
    table[numbers] = table[numbers].rank(pct=True)
    table.to_csv(args.out, index=False)


if __name__ == "__main__":
    main()
