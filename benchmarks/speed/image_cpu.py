"""An update of a predictor of images on a CPU, products in float32 and in bfloat16: seconds, and how many times faster.

python -m benchmarks.speed.image_cpu [--threads 2]

64 images of 128 x 128 pixels, one thread by default. The images are noise: what they show plays no part in the time.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from askwise import DimeImageClassifier
from askwise.core.rows import Rows
from askwise.training.modes import threads
from askwise.training.objectives import MaskedPrediction
from askwise.training.update import FEWEST_WEIGHTS, Plan, Update, cpu_has_bfloat16
from askwise.training.variation import VARIATIONS, Varied
from benchmarks.shared.image_updates import policy_and_rows
from benchmarks.shared.measuring import wall_seconds
from benchmarks.shared.options import Options

WIDTHS = {"small-cnn": (16, 32, 128, 256), "small-vit": (32, 96, 192)}


def update_of(backbone: str, width: int, n_images: int, size: int) -> tuple[Update, Rows]:
    method, device = DimeImageClassifier(backbone=backbone, hidden=width, patch=size // 8), torch.device("cpu")
    policy, rows, task = policy_and_rows(method, size, device, n_images)
    vary = Varied(policy.space.layout, VARIATIONS)
    return Update(policy.train(), MaskedPrediction(policy, task), Plan(1, n_images), 1000, vary, device), rows


def seconds(update: Update, rows: Rows, repeats: int) -> float:
    """The fastest of several, after one that sets things up."""
    weight = torch.ones(len(rows))
    found = [wall_seconds(lambda: update(rows, weight))[1] for _ in range(repeats + 1)]
    return min(found[1:])


def main(argv: Sequence[str] | None = None) -> None:
    options = Options(__doc__)
    options.add("--images", type=int, default=64, smoke=2)
    options.add("--size", type=int, default=128, smoke=16)
    options.add("--repeats", type=int, default=3, smoke=1)
    options.add_argument("--threads", type=int, default=1)
    args = options.read(argv)
    able = "multiplies" if cpu_has_bfloat16() else "does not multiply"
    print(f"This CPU {able} bfloat16; it is used from {FEWEST_WEIGHTS:,} weights on.\n")
    print("| backbone | width | weights | float32 | bfloat16 | times faster |\n|---|---|---|---|---|---|")
    for backbone, width in ((backbone, width) for backbone, widths in WIDTHS.items() for width in widths):
        if args.smoke and width != WIDTHS[backbone][0]:
            continue
        update, rows = update_of(backbone, width, args.images, args.size)
        weights = sum(p.numel() for p in update.policy.parameters())
        taken = []
        for reduced in (False, True):
            update.reduced = reduced
            with threads(args.threads):
                taken.append(seconds(update, rows, args.repeats))
        ratio = taken[0] / taken[1]
        print(f"| {backbone} | {width} | {weights:,} | {taken[0]:.3f} s | {taken[1]:.3f} s | {ratio:.2f} |", flush=True)


if __name__ == "__main__":
    main()
