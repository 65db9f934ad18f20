"""One training step on images, ours against a plain loop: time for a batch, and the most memory it takes.

    python benchmarks/image_step.py --out FILE.json

The plain loop is as the paper's published code trains: from question to question, each network runs the backbone for
itself, with gradients at every step. It gets the same precision, bfloat16, as ours.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from askwise import DimeImageClassifier, TimmBackbone
from askwise.core.arrays import cost_tensor
from askwise.core.rows import Rows
from askwise.core.tasks import Classification
from askwise.methods.dime.objectives import JointObjective
from askwise.training.recording import fastest
from askwise.training.update import Plan, Update


def policy_and_rows(method: DimeImageClassifier, size: int, device: torch.device, n_rows: int) -> tuple[Any, Rows, Any]:
    """A policy on random images; what they show plays no part in the time."""
    torch.manual_seed(0)
    images = np.random.default_rng(0).integers(0, 256, (n_rows, size, size, 3), dtype=np.uint8)
    schema = method.schema_of(images)
    task = Classification(tuple(range(10)))
    rows = schema.encode(images)
    rows = Rows(rows.x, rows.present, rows.available, torch.arange(n_rows) % 10).to(device)
    return method.build(schema.space, task).to(device), rows, task


def method_of(args: argparse.Namespace, **how: Any) -> DimeImageClassifier:
    return DimeImageClassifier(backbone=TimmBackbone(args.backbone), patch=args.patch, **how)


def timed(step: Callable[[], None], repeats: int) -> tuple[float, float]:
    """Seconds of a step once it is warm, and the most memory in gigabytes."""
    device = torch.cuda.is_available()
    for _ in range(2):
        step()
    if device:
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
    start = time.perf_counter()
    for _ in range(repeats):
        step()
    if device:
        torch.cuda.synchronize()
    memory = torch.cuda.max_memory_reserved() / 2**30 if device else 0.0
    return (time.perf_counter() - start) / repeats, memory


def plain_loop(args: argparse.Namespace, device: torch.device) -> tuple[float, float]:
    policy, rows, task = policy_and_rows(method_of(args), args.size, device, args.batch)
    optimiser = torch.optim.AdamW(policy.parameters(), 1e-4, fused=device.type == "cuda")

    def step() -> None:
        known = torch.zeros_like(rows.available)
        before = None
        optimiser.zero_grad()
        for _ in range(args.steps):
            with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
                mask = policy.mask(known, rows.present)
                score = policy(rows.x, mask).scores
                choice = score.masked_fill(known, -torch.inf).argmax(1, keepdim=True)
                known = known.scatter(1, choice, True)
                outputs = policy(rows.x, policy.mask(known, rows.present), scores=False).outputs
                loss = task.loss(outputs, rows.y)
                gain = torch.zeros_like(loss) if before is None else before - loss.detach()
                total = loss.mean() + ((score.gather(1, choice)[:, 0] - gain) ** 2).mean()
            total.backward()
            before = loss.detach()
        optimiser.step()

    return timed(step, args.repeats)


def ours(args: argparse.Namespace, device: torch.device, **how: Any) -> tuple[float, float]:
    """Of a batch: one walk serves several updates, so that a step learns from several batches."""
    policy, rows, task = policy_and_rows(method_of(args, **how), args.size, device, args.batch * args.batches)
    costs = cost_tensor(policy.space.costs, torch.float32, device)
    objective = JointObjective(policy, task, costs, args.steps, 0.05, args.batch, how.get("learn_from"))
    update = Update(policy.train(), objective, Plan(1, len(rows)), 1000, lambda batch: batch, device)
    weight = torch.ones(len(rows), device=device)
    learn = fastest(update, rows, weight)
    seconds, memory = timed(lambda: learn(rows, weight), args.repeats)
    return seconds / args.batches, memory


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backbone", default="vit_small_patch16_224")
    for name, value in {"size": 224, "patch": 16, "batch": 32, "steps": 20, "batches": 8, "repeats": 5}.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    found = {}
    for name, measure in {
        "plain loop": lambda: plain_loop(args, device),
        "all steps": lambda: ours(args, device),
        "learn_from=4": lambda: ours(args, device, learn_from=4),
        "learn_from=4, unknown dropped": lambda: ours(args, device, learn_from=4, drop_unknown=True),
    }.items():
        seconds, memory = measure()
        found[name] = {"milliseconds": round(1000 * seconds, 1), "memory_gb": round(memory, 2)}
        ratio = found["plain loop"]["milliseconds"] / found[name]["milliseconds"]
        found[name]["times_faster"] = round(ratio, 2)
        print(name, found[name], flush=True)
        if device.type == "cuda":
            torch.cuda.empty_cache()
    if args.out is not None:
        args.out.write_text(json.dumps(vars(args) | {"out": None, "device": str(device), "found": found}))


if __name__ == "__main__":
    main()
