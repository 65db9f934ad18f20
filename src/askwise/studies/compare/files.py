"""The files of a comparison: a tidy table, a document and pictures."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from askwise.data.whole_file import whole_file
from askwise.studies.compare.markdown import markdown
from askwise.studies.compare.plots import comparison
from askwise.studies.compare.tables import AVERAGE, BUDGET


def write(results: pd.DataFrame, folder: Path) -> dict[str, Path]:
    """The tidy table, the Markdown and the pictures, each whole."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {"results": folder / "results.csv", "table": folder / "table.md", "figure": folder / "compare.png"}
    with whole_file(files["results"]) as part:
        results.to_csv(part, index=False, float_format="%.6g")
    with whole_file(files["table"]) as part:
        part.write_text(markdown(results), encoding="utf-8")
    pictures = {"figure": BUDGET}
    if (results["rule"] == AVERAGE).any():
        files["average_cost_figure"] = folder / "compare-average-cost.png"
        pictures["average_cost_figure"] = AVERAGE
    for name, rule in pictures.items():
        with whole_file(files[name]) as part:
            comparison(results, rule).savefig(part, format="png")
    return files
