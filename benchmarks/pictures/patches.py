"""The pictures of docs/patches.md: scikit-learn's digits in patches, asked one by one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from askwise import AverageCost, DimeImageClassifier
from askwise.report.plots.images import case_picture, selection_picture
from benchmarks.shared.options import Options

SHOWN = 1


def main(argv: Sequence[str] | None = None) -> None:
    options = Options(__doc__, out=Path("docs/images"))
    options.add("--images", type=int, default=None, smoke=120, help="how many digits, all by default")
    options.add("--pretrain-epochs", type=int, default=20, smoke=1)
    options.add("--epochs", type=int, default=6, smoke=1)
    args = options.read(argv)
    digits = load_digits()
    images = (digits.images * 255 / 16).astype("uint8")[: args.images]
    x, x_test, y, y_test = train_test_split(images, digits.target[: args.images], random_state=0)
    # As in docs/patches.md.
    size = {"patch": 2, "hidden": 32, "layers": 1, "batch_size": 32, "augment": []}
    lengths = {"pretrain_epochs": args.pretrain_epochs, "epochs": args.epochs}
    model = DimeImageClassifier(**size, **lengths, random_state=0).fit(x, y)
    asked = model.acquire(x_test, stop=AverageCost(4))
    hits = asked.proba.argmax(1) == y_test
    print(f"{hits.mean():.3f} with {asked.n_asked.mean():.2f} patches, {model.score(x_test, y_test):.3f} with all")
    args.out.mkdir(parents=True, exist_ok=True)
    figure = case_picture(model, x_test[SHOWN], stop=AverageCost(4), truth=y_test[SHOWN])
    figure.savefig(args.out / "patches_case.png", dpi=80)
    selection_picture(model, x_test, AverageCost(4)).savefig(args.out / "patches_selection.png", dpi=80)


if __name__ == "__main__":
    main()
