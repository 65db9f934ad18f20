"""Memory of training on a large table: the peak above the data itself, over a number of updates."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from askwise import DimeClassifier
from benchmarks.shared.measuring import peak_mib
from benchmarks.shared.options import Options
from benchmarks.shared.results import Table, write_results


class Enough(Exception):
    """Raised when as many updates as asked for were measured."""


class Stopped(DimeClassifier):
    """A classifier whose joint training ends after a number of updates."""

    most_updates = 0

    def joint(self, *given: Any) -> Any:
        objective = super().joint(*given)
        whole, done = objective.losses, 0

        def losses(*batch: Any) -> Any:
            nonlocal done
            for loss in whole(*batch):
                if done == self.most_updates:
                    raise Enough
                done += 1
                yield loss

        objective.losses = losses
        return objective


def main(argv: Sequence[str] | None = None) -> None:
    options = Options(__doc__)
    options.add("--rows", type=int, default=1_000_000, smoke=1000)
    options.add("--columns", type=int, default=50, smoke=8)
    options.add("--updates", type=int, default=200, smoke=3)
    args = options.read(argv)
    rng = np.random.default_rng(0)
    x = rng.standard_normal((args.rows, args.columns), dtype=np.float32)
    y = (x[:, :5].sum(1) + rng.standard_normal(args.rows, dtype=np.float32) > 0).astype(int)
    before = peak_mib() / 1024
    model = Stopped(random_state=0, pretrain_epochs=1, epochs=1)
    model.most_updates = args.updates
    with contextlib.suppress(Enough):
        model.fit(x, y)
    after = peak_mib() / 1024
    table = Table(["rows", "columns", "data GiB", "peak before GiB", "peak GiB", "above the data GiB"])
    table.add([args.rows, args.columns, x.nbytes / 2**30, before, after, after - before])
    print(table)
    write_results(args.out, "memory", table)


if __name__ == "__main__":
    main()
