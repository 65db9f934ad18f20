"""EDDI on one thread: batched over rows, candidates and samples, against a plain loop over rows and candidates."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from askwise import Budget, EddiClassifier
from askwise.core.rows import Rows
from askwise.methods.eddi import EddiPolicy
from askwise.training.modes import threads
from benchmarks.shared.data import digits_split
from benchmarks.shared.measuring import least_cpu_seconds
from benchmarks.shared.options import Options, tiny
from benchmarks.shared.results import Table, write_results

# Trained for a short while: speed does not depend on how good it is.
SETTINGS = {"epochs": 10, "random_state": 0, "device": "cpu"}


def plain_scores(policy: EddiPolicy, x: Tensor, mask: Tensor, anew: bool) -> Tensor:
    """The scores of one row's groups, one after the other: each is revealed in all its samples, and predicted.

    anew: imagine for each group, as the formula reads; else once, for all groups.
    """

    def imagine() -> Tensor:
        return policy.networks.model.imagine(policy.hide(x, mask), mask, policy.noise)[0].T

    samples = imagine()
    scores = x.new_full((policy.space.n_groups,), -torch.inf)
    for group, columns in enumerate(policy.space.members):
        if mask[0, list(columns)].any():
            continue
        samples = imagine() if anew else samples
        revealed = mask.repeat(len(samples), 1)
        revealed[:, list(columns)] = True
        known = mask[:, policy.column_of_entry]
        outputs = policy(torch.where(known, x, samples), revealed, scores=False).outputs
        p = outputs.double().softmax(-1)
        scores[group] = (p * (p.log() - p.mean(0).log())).sum(-1).mean()
    return scores


def plain_rollout(policy: EddiPolicy, rows: Rows, budget: int, anew: bool = False) -> tuple[Tensor, Tensor]:
    """Row by row, the groups known after the budget, and the scores of every step (rows, steps, groups)."""
    known, found = torch.zeros_like(rows.available), []
    for row in range(len(rows)):
        one = slice(row, row + 1)
        for _ in range(budget):
            mask = policy.mask(known[one], rows.present[one])
            found.append(plain_scores(policy, rows.x[one], mask, anew))
            known[row, found[-1].masked_fill(~rows.available[row], -torch.inf).argmax()] = True
    return known, torch.stack(found).view(len(rows), budget, -1)


def check(policy: EddiPolicy, rows: Rows, scores: Tensor) -> None:
    """Both ways give the same scores in every state of the plain rollout."""
    known = torch.zeros_like(rows.available)
    for theirs in scores.unbind(1):
        ours = policy(rows.x, policy.mask(known, rows.present)).scores
        assert torch.allclose(ours[~known], theirs[~known], rtol=1e-3, atol=1e-6), (ours - theirs)[~known].abs().max()
        known = known.scatter(1, theirs.argmax(1)[:, None], True)


def main(argv: Sequence[str] | None = None) -> None:
    options = Options(__doc__)
    options.add_data("data", "folder that holds digits_split.npz")
    options.add("--rows", type=int, default=360, smoke=8)
    options.add("--plain-rows", type=int, default=8, smoke=2)
    options.add("--budget", type=int, default=10, smoke=2)
    options.add("--repeats", type=int, default=3, smoke=1)
    args = options.read(argv)
    data = digits_split(args.data)
    # A few rows to validate: what takes time then is not what is measured here.
    few_rows = data.x_val[:40], data.y_val[:40]
    model = EddiClassifier(**SETTINGS | tiny(args, EddiClassifier)).fit(data.x, data.y, eval_set=few_rows)
    rows, policy = model.encode(data.x_test[: args.rows]), model.model_.fast_policy
    few = rows.take(slice(args.plain_rows))
    table = Table([f"budget {args.budget}, {model.n_samples} samples", "rows", "µs a row", "times batched"])
    with threads(1), torch.no_grad():
        check(policy, few, plain_rollout(policy, few, args.budget)[1])
        works = (
            lambda: model.model_.acquire(rows, Budget(args.budget)),
            lambda: plain_rollout(policy, few, args.budget),
            lambda: plain_rollout(policy, few, args.budget, anew=True),
        )
        seconds = least_cpu_seconds(*works, repeats=args.repeats)
    names = ("batched", "plain loop, samples once a step", "plain loop, samples for each candidate")
    for name, taken, n_rows in zip(names, seconds, (len(rows), len(few), len(few)), strict=True):
        us = 1e6 * taken / n_rows
        table.add([name, n_rows, us, us / (1e6 * seconds[0] / len(rows))])
    print(table)
    write_results(args.out, "eddi_speed", table)


if __name__ == "__main__":
    main()
