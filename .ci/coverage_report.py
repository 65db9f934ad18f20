"""Prints the line coverage of src, and the lines that are left out because they need a GPU."""

import json
import re
import sys
import tempfile
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import coverage

NEEDS_GPU = re.compile(r"# needs a GPU|\.type == \"cuda\":")


def gpu_blocks(source: list[str], excluded: list[int]) -> Iterator[tuple[int, int]]:
    """First and last line of each excluded block that needs a GPU; excluded holds line numbers, counted from 1."""
    for _, run in groupby(enumerate(excluded), lambda pair: pair[1] - pair[0]):
        block = [number for _, number in run]
        if any(NEEDS_GPU.search(line) for line in source[block[0] - 1 : block[-1]]):
            yield block[0], block[-1]


def main() -> int:
    measured = coverage.Coverage()
    measured.load()
    percent = measured.report(show_missing=True, skip_covered=True)
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        measured.json_report(outfile=out.name)
        files = json.loads(Path(out.name).read_text())["files"]
    print("\nLeft out, since they need a GPU:")
    count = 0
    for file, facts in files.items():
        source = Path(file).read_text().splitlines()
        for first, last in gpu_blocks(source, facts["excluded_lines"]):
            print(f"  {file}:{first}-{last}  {source[first - 1].strip()}")
            count += last - first + 1
    print(f"  {count} lines")
    least = measured.get_option("report:fail_under")
    print(f"\nLine coverage of src: {percent:.1f} % (asked: {least:g} %)")
    return int(percent < least)


if __name__ == "__main__":
    sys.exit(main())
