"""Memory of training on a large table: the peak above the data itself, over a number of updates."""

from __future__ import annotations

import argparse
import contextlib
import resource
from unittest.mock import patch

import numpy as np

from askwise import DimeClassifier
from askwise.methods.dime.objectives import JointObjective
from common import Table, write_results


class Enough(Exception):
    """Raised when as many updates as asked for were measured."""


def peak_gib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def stop_after(updates: int):
    """Joint training that ends after a number of updates."""
    done = 0
    whole = JointObjective._loss

    def loss(*args):
        nonlocal done
        if done == updates:
            raise Enough
        done += 1
        return whole(*args)

    return patch.object(JointObjective, "_loss", loss)


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
    with stop_after(args.updates), contextlib.suppress(Enough):
        DimeClassifier(random_state=0, pretrain_epochs=1, epochs=1).fit(x, y)
    table = Table(["rows", "columns", "data GiB", "peak before GiB", "peak GiB", "above the data GiB"])
    table.add([args.rows, args.columns, x.nbytes / 2**30, before, peak_gib(), peak_gib() - before])
    print(table)
    write_results(args.out, "memory", table)


if __name__ == "__main__":
    main()
