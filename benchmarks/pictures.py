"""The pictures of README and results: scikit-learn's digits, accuracy, pixels that were asked, and calibration."""

from __future__ import annotations

import argparse
from pathlib import Path

from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from askwise import AverageCost, DimeClassifier
from askwise.report.plots.cases import digit_selections
from askwise.report.plots.curves import cost_curve
from askwise.report.report import make_report

SHOWN = 10
# Of a report, as it names them.
CALIBRATION = ("calibration", "information", "bound", "full_input")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("docs/images"))
    args = parser.parse_args()
    digits = load_digits(as_frame=True)
    x, x_test, y, y_test = train_test_split(digits.data, digits.target, random_state=0, stratify=digits.target)
    model = DimeClassifier(random_state=0).fit(x, y)
    args.folder.mkdir(parents=True, exist_ok=True)
    cost_curve(model.curve(x_test, y_test, bootstrap=200)).savefig(args.folder / "digits_curve.png")
    print(f"accuracy with everything: {model.score(x_test, y_test):.3f}")
    average = model.acquire(x_test, stop=AverageCost(8))
    hits = model.classes_[average.proba.argmax(1)] == y_test
    print(f"accuracy with {average.spent.mean():.2f} pixels on average: {hits.mean():.3f}")
    some, truth = x_test.iloc[:SHOWN], y_test.to_numpy()[:SHOWN]
    asked = model.acquire(some, stop=AverageCost(8))
    images = some.to_numpy().reshape(-1, 8, 8)
    guesses = model.classes_[asked.proba.argmax(1)]
    figure = digit_selections(images, asked.order, list(x.columns), truth, guesses)
    figure.savefig(args.folder / "digits_questions.png")
    unbounded = DimeClassifier(scaling="none", random_state=0).fit(x, y)
    report = make_report(model, x_test, y_test, bootstrap=0, beside=unbounded)
    for name in CALIBRATION:
        (args.folder / f"digits_{name}.png").write_bytes(report.contents[f"{name}.png"])
    print(report.contents["trust.csv"].decode())


if __name__ == "__main__":
    main()
