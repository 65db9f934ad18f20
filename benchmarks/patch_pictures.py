"""The pictures of docs/patches.md: scikit-learn's digits in patches, asked one by one."""

from __future__ import annotations

import argparse
from pathlib import Path

from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from askwise import AverageCost, DimeImageClassifier
from askwise.report.plots.images import case_picture, selection_picture

SHOWN = 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("docs/images"))
    args = parser.parse_args()
    digits = load_digits()
    images = (digits.images * 255 / 16).astype("uint8")
    x, x_test, y, y_test = train_test_split(images, digits.target, random_state=0)
    # As in docs/patches.md.
    size = {"patch": 2, "hidden": 32, "layers": 1, "pretrain_epochs": 20, "epochs": 6, "batch_size": 32, "augment": []}
    model = DimeImageClassifier(**size, random_state=0).fit(x, y)
    asked = model.acquire(x_test, stop=AverageCost(4))
    hits = asked.proba.argmax(1) == y_test
    print(f"{hits.mean():.3f} with {asked.n_asked.mean():.2f} patches, {model.score(x_test, y_test):.3f} with all")
    args.folder.mkdir(parents=True, exist_ok=True)
    figure = case_picture(model, x_test[SHOWN], stop=AverageCost(4), truth=y_test[SHOWN])
    figure.savefig(args.folder / "patches_case.png", dpi=80)
    selection_picture(model, x_test, AverageCost(4)).savefig(args.folder / "patches_selection.png", dpi=80)


if __name__ == "__main__":
    main()
