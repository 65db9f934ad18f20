"""Digits: calibration error of the predictor at a budget, pooled over folds of all rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import StratifiedKFold

from askwise import Budget, DimeClassifier
from askwise.evaluation.calibration import perfect_ece
from askwise.evaluation.metrics import expected_calibration_error
from benchmarks.shared.data import few_digits
from benchmarks.shared.options import Options, tiny
from benchmarks.shared.results import Table, write_results


def main(argv: Sequence[str] | None = None) -> None:
    options = Options(__doc__)
    options.add("--seeds", type=int, default=1, smoke=1)
    options.add("--budget", type=float, default=10, smoke=3)
    options.add("--folds", type=int, default=5, smoke=2)
    args = options.read(argv)
    x, y = few_digits()[:2] if args.smoke else load_digits(return_X_y=True)
    table = Table(["seed", "rows", "accuracy", "log loss", "ECE", "ECE if perfect"])
    for seed in range(args.seeds):
        proba = np.zeros((len(y), 10))
        for train, test in StratifiedKFold(args.folds, shuffle=True, random_state=seed).split(x, y):
            model = DimeClassifier(random_state=seed, **tiny(args, DimeClassifier)).fit(x[train], y[train])
            proba[test] = model.predict_proba(x[test], stop=Budget(args.budget))
        ece = float(expected_calibration_error(proba, y, np.ones((1, len(y))))[0])
        loss = float(-np.log(proba[np.arange(len(y)), y]).mean())
        table.add([seed, len(y), float((proba.argmax(1) == y).mean()), loss, ece, perfect_ece(proba)])
    table.add_mean()
    print(table)
    write_results(args.out, "calibration", table)


if __name__ == "__main__":
    main()
