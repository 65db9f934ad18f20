"""An update of a predictor of images on a CPU, products in float32 and in bfloat16: seconds, and how many times faster.

    python benchmarks/image_cpu.py [--threads 2]

64 images of 128 x 128 pixels, one thread by default. The images are noise: what they show plays no part in the time.
"""

from __future__ import annotations

import argparse
import time

import torch

from askwise import DimeImageClassifier
from askwise.core.rows import Rows
from askwise.training.objectives import MaskedPrediction
from askwise.training.update import FEWEST_WEIGHTS, Plan, Update, cpu_has_bfloat16
from askwise.training.variation import VARIATIONS, Varied
from image_step import policy_and_rows

NETWORKS = [("small-cnn", width) for width in (16, 32, 128, 256)] + [("small-vit", width) for width in (32, 96, 192)]


def update_of(backbone: str, width: int, n_images: int, size: int) -> tuple[Update, Rows]:
    method, device = DimeImageClassifier(backbone=backbone, hidden=width, patch=size // 8), torch.device("cpu")
    policy, rows, task = policy_and_rows(method, size, device, n_images)
    vary = Varied(policy.space.layout, VARIATIONS)
    return Update(policy.train(), MaskedPrediction(policy, task), Plan(1, n_images), 1000, vary, device), rows


def seconds(update: Update, rows: Rows, repeats: int) -> float:
    """The fastest of several, after one that sets things up."""
    found = []
    for _ in range(repeats + 1):
        start = time.perf_counter()
        update(rows, torch.ones(len(rows)))
        found.append(time.perf_counter() - start)
    return min(found[1:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, value in {"images": 64, "size": 128, "repeats": 3, "threads": 1}.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    able = "multiplies" if cpu_has_bfloat16() else "does not multiply"
    print(f"This CPU {able} bfloat16; it is used from {FEWEST_WEIGHTS:,} weights on.\n")
    print("| backbone | width | weights | float32 | bfloat16 | times faster |\n|---|---|---|---|---|---|")
    for backbone, width in NETWORKS:
        update, rows = update_of(backbone, width, args.images, args.size)
        weights = sum(p.numel() for p in update.policy.parameters())
        taken = []
        for reduced in (False, True):
            update.reduced = reduced
            taken.append(seconds(update, rows, args.repeats))
        ratio = taken[0] / taken[1]
        print(f"| {backbone} | {width} | {weights:,} | {taken[0]:.3f} s | {taken[1]:.3f} s | {ratio:.2f} |", flush=True)


if __name__ == "__main__":
    main()
