"""The picture of the page in the docs: an invented case, half way through the questions of a model of heart disease.

python -m benchmarks.pictures.page DATA_FOLDER [--figure OUT.png] [--questions 4] [--dark]

Needs Chromium, and heart_cleveland.csv.gz and costs.json (Turney 1995) in the folder, which train the model. Nobody of
the data is shown: the answers are invented.
"""

from __future__ import annotations

import base64
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from askwise import AverageCost, DimeClassifier, load
from askwise.data.tables.files import read_table
from benchmarks.shared.browser import add_page_options, pictured
from benchmarks.shared.options import Options, tiny
from benchmarks.shared.server import served

TARGET = "diameter narrowing"
# Known from the start.
FREE = ["age", "gender"]
CASE = {
    "age": 57,
    "gender": "male",
    "chest pain": "asymptomatic",
    "rest SBP": 138,
    "cholesterol": 245,
    "fasting blood sugar > 120": False,
    "rest ECG": "normal",
    "max HR": 142,
    "exerc ind ang": False,
    "ST by exercise": 1.1,
    "slope peak exc ST": "flat",
    "major vessels colored": 1,
    "thal": "normal",
}
QUESTIONS = {
    "gender": "Sex",
    "chest pain": "What kind of chest pain?",
    "rest SBP": {"text": "Systolic blood pressure at rest", "unit": "mm Hg", "help": "Sitting, after five minutes."},
    "cholesterol": {"text": "Serum cholesterol", "unit": "mg/dl"},
    "fasting blood sugar > 120": "Is the fasting blood sugar above 120 mg/dl?",
    "rest ECG": "Electrocardiogram at rest",
    "max HR": {"text": "Highest heart rate on the treadmill", "unit": "beats/min"},
    "exerc ind ang": "Does exercise bring on angina?",
    "ST by exercise": {"text": "ST depression by exercise", "unit": "mm"},
    "slope peak exc ST": "Slope of the ST segment at peak exercise",
    "major vessels colored": "Major vessels coloured by fluoroscopy",
    "thal": "Thallium scan of the heart",
}


def state(model: object, row: dict[str, object], fingerprint: str, n: int, stop: str) -> str:
    """The link of a conversation in which the first questions about a case have been answered."""
    session = model.session(stop=AverageCost(float(stop.partition("=")[2])))
    known = {name: row[name] for name in model.model_.schema.free}
    for name, value in known.items():
        session.tell(name, value)
    said = []
    while len(said) < n and (question := session.ask()) is not None:
        values = {column.name: row[column.name] for column in question.columns}
        session.tell(question.name, values)
        said.append({"name": question.name, "values": values, "at": "2026-01-01T12:00:00.000Z"})
    facts = {
        "v": 1,
        "model": "heart",
        "fingerprint": fingerprint,
        "said": said,
        "known": known,
        "stop": stop,
        "costs": {},
    }
    return base64.urlsafe_b64encode(json.dumps(facts).encode()).decode().rstrip("=")


def heart_table(folder: Path) -> tuple[pd.DataFrame, Any, dict[str, float]]:
    """The columns, the answers, and what each column costs."""
    table = read_table(folder / "heart_cleveland.csv.gz").dropna()
    # Yes or no, as people answer it.
    for name in ("fasting blood sugar > 120", "exerc ind ang"):
        table[name] = table[name].astype(bool)
    answer = table.pop(TARGET).map({0: "healthy", 1: "narrowed"}).to_numpy()
    return table, answer, json.loads((folder / "costs.json").read_text())["heart_cleveland"]


def invented_table(n_rows: int = 60) -> tuple[pd.DataFrame, Any, dict[str, float]]:
    """The same with invented rows, all near the case that is shown."""
    rng = np.random.default_rng(0)

    def column(value: Any) -> Any:
        if isinstance(value, bool | str):
            return rng.choice([value, not value if isinstance(value, bool) else "other"], n_rows)
        return rng.normal(value, 0.2 * value, n_rows)

    table = pd.DataFrame({name: column(value) for name, value in CASE.items()})
    return table, np.where(table["age"] > CASE["age"], "narrowed", "healthy"), dict.fromkeys(CASE, 10.0)


def main(argv: Sequence[str] | None = None) -> None:
    options = Options(__doc__)
    options.add_data("data", "folder with heart_cleveland.csv.gz and costs.json")
    options.add("--questions", type=int, default=4, smoke=2)
    options.add_argument("--stop", default="average-cost=130")
    options.add_written("--figure", Path("docs/images/page.png"))
    add_page_options(options)
    args = options.read(argv)
    table, answer, costs = invented_table() if args.data is None else heart_table(args.data)
    costs = {name: price for name, price in costs.items() if name not in FREE}
    model = DimeClassifier(
        costs=costs, free=FREE, questions=QUESTIONS, random_state=0, **tiny(args, DimeClassifier)
    ).fit(table, answer)
    model.model_.card |= {"target": "narrowing of a coronary vessel"}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model.save(folder / "heart.askwise")
        model = load(folder / "heart.askwise")
        link = state(model, CASE, model.model_.fingerprint, args.questions, args.stop)
        with (
            served(folder / "heart.askwise", folder, in_thread=args.smoke) as server,
            pictured(args, f"{server.url}#{link}") as page,
        ):
            page.wait_for_selector("[aria-busy=false]")


if __name__ == "__main__":
    main()
