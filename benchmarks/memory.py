"""Memory of training on a large table: the peak above the data itself, over a number of updates."""

from __future__ import annotations

import argparse
import resource

import numpy as np

from askwise import DimeClassifier
from common import Table, write_results


class Enough(Exception):
    """Raised when as many updates as asked for were measured."""


def peak_gib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--updates", type=int, default=200)
    parser.add_argument("--out", default="benchmarks/out")
    args = parser.parse_args()
    rng = np.random.default_rng(0)
    x = rng.standard_normal((args.rows, args.columns), dtype=np.float32)
    y = (x[:, :5].sum(1) + rng.standard_normal(args.rows, dtype=np.float32) > 0).astype(int)
    before = peak_gib()
    updates = count_updates(args.updates)
    try:
        DimeClassifier(random_state=0, pretrain_epochs=1, epochs=1).fit(x, y)
    except Enough:
        pass
    finally:
        updates.undo()
    table = Table(["rows", "columns", "data GiB", "peak before GiB", "peak GiB", "above the data GiB"])
    table.add([args.rows, args.columns, x.nbytes / 2**30, before, peak_gib(), peak_gib() - before])
    print(table)
    write_results(args.out, "memory", table)


class count_updates:
    """Stop training after a number of joint updates, by watching DIME's objective."""

    def __init__(self, most: int) -> None:
        from askwise.methods.dime import JointObjective

        self.owner, self.original, self.left = JointObjective, JointObjective.loss, most

        def loss(objective, *args):
            if self.left == 0:
                raise Enough
            self.left -= 1
            return self.original(objective, *args)

        JointObjective.loss = loss

    def undo(self) -> None:
        self.owner.loss = self.original


if __name__ == "__main__":
    main()
