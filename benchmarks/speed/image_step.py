"""One training step on images, ours against a plain loop: time for a batch, and the most memory it takes.

python -m benchmarks.speed.image_step [--steps 50] [--out FOLDER]

The plain loop is as the paper's published code trains: from question to question, each network runs the backbone for
itself, with gradients at every step. It gets the same precision, bfloat16, as ours.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from typing import Any

import torch

from askwise import DimeImageClassifier, TimmBackbone
from askwise.training.loop import Training
from askwise.training.recording import capture_if_possible
from askwise.training.update import Plan, Update
from benchmarks.shared.image_updates import policy_and_rows
from benchmarks.shared.measuring import wait_for_gpu, wall_seconds
from benchmarks.shared.options import Options

SIZES = {"size": (224, 16), "patch": (16, 4), "batch": (32, 2), "steps": (20, 6), "batches": (8, 2), "repeats": (5, 1)}
SMALL = "small-vit"


def method_of(args: argparse.Namespace, **how: Any) -> DimeImageClassifier:
    backbone = SMALL if args.backbone == SMALL else TimmBackbone(args.backbone)
    small = {"hidden": 8, "layers": 1} if args.smoke else {}
    return DimeImageClassifier(backbone=backbone, patch=args.patch, max_steps=args.steps, epsilon=0.05, **how, **small)


def timed(step: Callable[[], None], repeats: int) -> tuple[float, float]:
    """Seconds of a step once it is warm, and the most memory in gigabytes."""
    for _ in range(2):
        step()
    wait_for_gpu()
    has_gpu = torch.cuda.is_available()
    if has_gpu:
        torch.cuda.reset_peak_memory_stats()

    def all_steps() -> None:
        for _ in range(repeats):
            step()
        wait_for_gpu()

    _, seconds = wall_seconds(all_steps)
    return seconds / repeats, torch.cuda.max_memory_reserved() / 2**30 if has_gpu else 0.0


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
    method = method_of(args, **how)
    policy, rows, task = policy_and_rows(method, args.size, device, args.batch * args.batches)
    objective = method.joint(policy, Training(policy, rows, rows, seed=0), task, Plan(1, args.batch))
    update = Update(policy.train(), objective, Plan(1, len(rows)), 1000, lambda batch: batch, device)
    weight = torch.ones(len(rows), device=device)
    learn = capture_if_possible(update, rows, weight)
    seconds, memory = timed(lambda: learn(rows, weight), args.repeats)
    return seconds / args.batches, memory


def main(argv: Sequence[str] | None = None) -> None:
    options = Options(__doc__)
    options.add("--backbone", default="vit_small_patch16_224", smoke=SMALL)
    for name, (usual, small) in SIZES.items():
        options.add(f"--{name}", type=int, default=usual, smoke=small)
    args = options.read(argv)
    device = torch.device("cuda" if torch.cuda.is_available() and not args.smoke else "cpu")
    found: dict[str, dict[str, float]] = {}
    for name, measure in {
        "plain loop": lambda: plain_loop(args, device),
        "all steps": lambda: ours(args, device, learn_from=None),
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
    args.out.mkdir(parents=True, exist_ok=True)
    facts = {option: getattr(args, option) for option in ("backbone", *SIZES)}
    name = "image_step" if args.steps == SIZES["steps"][0] else f"image_step_{args.steps}"
    (args.out / f"{name}.json").write_text(json.dumps(facts | {"device": str(device), "found": found}))


if __name__ == "__main__":
    main()
