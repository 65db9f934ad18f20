"""Digits: calibration error of the predictor at a budget, pooled over five folds of all rows."""

from __future__ import annotations

import argparse

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import StratifiedKFold

from askwise import Budget, DimeClassifier
from askwise.evaluation.calibration import perfect_ece
from askwise.evaluation.metrics import expected_calibration_error
from common import Table, write_results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--budget", type=float, default=10)
    parser.add_argument("--out", default="benchmarks/out")
    args = parser.parse_args()
    x, y = load_digits(return_X_y=True)
    table = Table(["seed", "rows", "accuracy", "log loss", "ECE", "ECE if perfect"])
    for seed in range(args.seeds):
        proba = np.zeros((len(y), 10))
        for train, test in StratifiedKFold(5, shuffle=True, random_state=seed).split(x, y):
            model = DimeClassifier(random_state=seed).fit(x[train], y[train])
            proba[test] = model.predict_proba(x[test], stop=Budget(args.budget))
        ece = float(expected_calibration_error(proba, y, np.ones((1, len(y))))[0])
        loss = float(-np.log(proba[np.arange(len(y)), y]).mean())
        table.add([seed, len(y), float((proba.argmax(1) == y).mean()), loss, ece, perfect_ece(proba)])
    table.add_mean()
    print(table)
    write_results(args.out, "calibration", table)


if __name__ == "__main__":
    main()
