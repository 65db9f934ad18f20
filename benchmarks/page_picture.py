"""The picture of the page in the docs: an invented case, half way through the questions of a model of heart disease.

python benchmarks/page_picture.py DATA_FOLDER OUT.png [--questions 4] [--dark]

Needs Chromium, and heart_cleveland.csv.gz and costs.json (Turney 1995) in the folder, which train the model. Nobody of
the data is shown: the answers are invented.
"""

from __future__ import annotations

import argparse
import base64
import json
import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from askwise import AverageCost, DimeClassifier, load
from askwise.data.tables.files import read_table
from service import served

TARGET = "diameter narrowing"
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--questions", type=int, default=4)
    parser.add_argument("--stop", default="average-cost=130")
    parser.add_argument("--dark", action="store_true")
    parser.add_argument("--width", type=int, default=1280)
    given = parser.parse_args()
    table = read_table(given.data / "heart_cleveland.csv.gz").dropna()
    # Yes or no, as people answer it.
    for name in ("fasting blood sugar > 120", "exerc ind ang"):
        table[name] = table[name].astype(bool)
    answer = table.pop(TARGET).map({0: "healthy", 1: "narrowed"})
    costs = json.loads((given.data / "costs.json").read_text())["heart_cleveland"]
    costs = {name: price for name, price in costs.items() if name not in ("age", "gender")}
    model = DimeClassifier(costs=costs, free=["age", "gender"], questions=QUESTIONS, random_state=0).fit(
        table, answer.to_numpy()
    )
    model.model_.card |= {"target": "narrowing of a coronary vessel"}
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        model.save(folder / "heart.askwise")
        model = load(folder / "heart.askwise")
        link = state(model, CASE, model.model_.fingerprint, given.questions, given.stop)
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        look = browser.new_context(
            viewport={"width": given.width, "height": 900}, color_scheme="dark" if given.dark else "light"
        )
        with served(folder / "heart.askwise", folder) as where:
            page = look.new_page()
            page.goto(f"http://127.0.0.1:{where.port}/#{link}")
            page.wait_for_selector("[aria-busy=false]")
            page.wait_for_timeout(500)
            page.screenshot(path=given.out, full_page=True)
        browser.close()


if __name__ == "__main__":
    main()
