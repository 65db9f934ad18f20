"""CUBE and CUBE-NM: accuracy of the greedy policy that knows the truth, by its ties and its first question."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from askwise.data.synthetic import DISTRIBUTIONS, Distribution
from benchmarks.shared.options import Options
from benchmarks.shared.results import Table, write_results

# The distribution, the group asked first (none: the best), and whether ties are broken at random.
WAYS = {
    "CUBE, first of ties": ("cube", None, False),
    "CUBE, ties at random": ("cube", None, True),
    "CUBE, x4 first": ("cube", "x4", False),
    "CUBE-NM, ties at random": ("cube-nm", None, True),
    "CUBE-NM, context first": ("cube-nm", "context", True),
}


def accuracies(truth: Distribution, first: str | None, at_random: bool, n_rows: int, n_steps: int) -> list[float]:
    """Accuracy after 1, 2, ... questions on fresh rows."""
    frame, y = truth.sample(n_rows, seed=1)
    rows, policy = truth.schema.encode(frame), truth.policy
    answer, draws = truth.task.encode(y), torch.Generator().manual_seed(0)
    known, found = torch.zeros_like(rows.available), []
    for k in range(n_steps):
        if k == 0 and first is not None:
            choice = torch.full((n_rows,), policy.space.position[first])
        else:
            scores = policy(rows.x, policy.mask(known, rows.present)).scores
            # Exact values are rounded at 1e-9, so this moves nothing but ties.
            noise = 1e-10 * torch.rand(scores.shape, generator=draws, dtype=scores.dtype) if at_random else 0.0
            choice = (scores + noise).masked_fill(known, -1).argmax(1)
        known = known.scatter(1, choice[:, None], True)
        outputs = policy(rows.x, policy.mask(known, rows.present), scores=False).outputs
        found.append(float((outputs.argmax(1) == answer).double().mean()))
    return found


def main(argv: Sequence[str] | None = None) -> None:
    options = Options(__doc__)
    options.add("--rows", type=int, default=20_000, smoke=50)
    options.add("--steps", type=int, default=10, smoke=3)
    args = options.read(argv)
    table = Table(["policy", *(f"k={k}" for k in range(1, args.steps + 1)), "mean"])
    for way, (name, first, at_random) in WAYS.items():
        found = accuracies(DISTRIBUTIONS[name](), first, at_random, args.rows, args.steps)
        table.add([way, *found, sum(found) / len(found)])
    print(table)
    write_results(args.out, "exact_greedy", table)


if __name__ == "__main__":
    main()
