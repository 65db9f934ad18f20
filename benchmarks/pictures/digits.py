"""The pictures of README and results: scikit-learn's digits, accuracy, pixels that were asked, and calibration."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from askwise import AverageCost, DimeClassifier
from askwise.report.findings import ReportOptions
from askwise.report.plots.cases import digit_selections
from askwise.report.plots.curves import cost_curve
from askwise.report.report import make_report
from benchmarks.shared.options import Options, tiny

SHOWN = 10
# Of a report, as it names them.
CALIBRATION = ("calibration", "information", "bound", "full_input")


def main(argv: Sequence[str] | None = None) -> None:
    options = Options(__doc__, out=Path("docs/images"))
    options.add("--rows", type=int, default=None, smoke=120, help="how many digits, all by default")
    options.add("--bootstrap", type=int, default=200, smoke=2)
    args = options.read(argv)
    digits = load_digits(as_frame=True)
    rows, labels = digits.data[: args.rows], digits.target[: args.rows]
    x, x_test, y, y_test = train_test_split(rows, labels, random_state=0, stratify=labels)
    small = tiny(args, DimeClassifier)
    model = DimeClassifier(random_state=0, **small).fit(x, y)
    args.out.mkdir(parents=True, exist_ok=True)
    cost_curve(model.curve(x_test, y_test, bootstrap=args.bootstrap)).savefig(args.out / "digits_curve.png")
    print(f"accuracy with everything: {model.score(x_test, y_test):.3f}")
    average = model.acquire(x_test, stop=AverageCost(8))
    hits = model.classes_[average.proba.argmax(1)] == y_test
    print(f"accuracy with {average.spent.mean():.2f} pixels on average: {hits.mean():.3f}")
    some, truth = x_test.iloc[:SHOWN], y_test.to_numpy()[:SHOWN]
    asked = model.acquire(some, stop=AverageCost(8))
    images = some.to_numpy().reshape(-1, 8, 8)
    guesses = model.classes_[asked.proba.argmax(1)]
    figure = digit_selections(images, asked.order, list(x.columns), truth, guesses)
    figure.savefig(args.out / "digits_questions.png")
    unbounded = DimeClassifier(scaling="none", random_state=0, **small).fit(x, y)
    report = make_report(model, x_test, y_test, ReportOptions(bootstrap=0, beside=unbounded))
    for name in CALIBRATION:
        (args.out / f"digits_{name}.png").write_bytes(report.contents[f"{name}.png"])
    print(report.contents["trust.csv"].decode())


if __name__ == "__main__":
    main()
