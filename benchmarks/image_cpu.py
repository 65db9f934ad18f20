"""An update of a predictor of images on a CPU, products in float32 and in bfloat16: seconds, and how many times faster.

    python benchmarks/image_cpu.py [--threads 2]

64 images of 128 x 128 pixels, one thread by default. The images are noise: what they show plays no part in the time.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import torch

from askwise import DimeImageClassifier
from askwise.features import Rows
from askwise.tasks import Classification
from askwise.training.objectives import MaskedPrediction
from askwise.training.update import FEWEST_WEIGHTS, Plan, Update, cpu_has_bfloat16
from askwise.training.variation import VARIATIONS, Varied

NETWORKS = [("small-cnn", width) for width in (16, 32, 128, 256)] + [("small-vit", width) for width in (32, 96, 192)]


def update_of(backbone: str, width: int, n_images: int, size: int) -> tuple[Update, Rows]:
    torch.manual_seed(0)
    method = DimeImageClassifier(backbone=backbone, hidden=width, patch=size // 8)
    images = np.random.default_rng(0).integers(0, 256, (n_images, size, size, 3), dtype=np.uint8)
    schema, task = method.schema_of(images), Classification(tuple(range(6)))
    rows = schema.encode(images)
    rows = Rows(rows.x, rows.present, rows.available, torch.arange(n_images) % 6)
    policy = method.build(schema.space, task).train()
    vary = Varied(schema.layout, VARIATIONS)
    return Update(policy, MaskedPrediction(policy, task), Plan(1, n_images), 1000, vary, torch.device("cpu")), rows


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
        for update.reduced in (False, True):
            taken.append(seconds(update, rows, args.repeats))
        ratio = taken[0] / taken[1]
        print(f"| {backbone} | {width} | {weights:,} | {taken[0]:.3f} s | {taken[1]:.3f} s | {ratio:.2f} |", flush=True)


if __name__ == "__main__":
    main()
