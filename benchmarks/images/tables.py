"""Tables and pictures of the runs that benchmarks.images.methods has written.

python -m benchmarks.images.tables [--pictures FOLDER]
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from benchmarks.shared.options import ROOT, Options
from benchmarks.shared.results import Table

RESULTS = ROOT / "benchmarks" / "results"
N_PATCHES = 64
FEW = 0.15 * N_PATCHES
NUMBERS = (1, 2, 4, 8, 16, 32, 64)
METHODS = ("dime", "argmax-direct", "hard-attention", "concrete-autoencoder", "random-order")
COLOURS = dict(zip(METHODS, ("#d55e00", "#0072b2", "#009e73", "#cc79a7", "#777777"), strict=True))
BACKBONES = {
    "lite": "EfficientNet-lite0, pretrained",
    "vit": "ViT tiny, from scratch",
    "resnet": "ResNet-10, from scratch",
}
# Of runs with another setting.
TAGS = {"": "", "drop": ", unknown dropped", "long": ", 25 joint epochs"}
# By the settings prior, prior_for and stop_gradient.
PRIORS = {
    (None, "both", False): "no prior",
    ("sketch", "predictor", False): "for the predictor only",
    ("sketch", "both", True): "for both, gradient stopped",
    ("sketch", "both", False): "for both",
}
DRAWN = [
    (data, backbone) for data in ("tinyimagenet10_64", "intel_scenes_128") for backbone in ("lite", "resnet", "vit")
]
RULES = {"penalty": ("#d55e00", "-"), "confidence": ("#0072b2", "--"), "budget": ("#555555", ":")}


def runs() -> list[dict[str, Any]]:
    found = [json.loads(file.read_text()) for file in sorted((RESULTS / "images").glob("*.json"))]
    for facts in found:
        facts["curve"] = pd.DataFrame(facts["curve"]).sort_values("mean_groups")
    return found


def at(facts: dict[str, Any], rule: str, number: float, metric: str = "accuracy") -> float:
    part = facts["curve"][facts["curve"].rule == rule]
    return float(np.interp(number, part.mean_groups, part[metric])) if len(part) else float("nan")


def best_rule(facts: dict[str, Any]) -> str:
    """The rule that a method is compared by: the penalty where its scores are information."""
    return "penalty" if "penalty" in facts["area"] else "budget"


def with_spread(values: list[float], digits: int = 1, times: float = 100) -> str:
    """The mean over the seeds, and their standard deviation where there are several."""
    mean = times * float(np.mean(values))
    return f"{mean:.{digits}f}" + (f" ± {times * float(np.std(values, ddof=1)):.{digits}f}" if len(values) > 1 else "")


def show(rows: list[list[str]], head: list[str]) -> None:
    table = Table(head)
    table.rows = rows
    print(table, "\n")


def grouped(found: list[dict[str, Any]], *keys: str) -> dict[tuple[str, ...], list[dict[str, Any]]]:
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for facts in found:
        groups.setdefault(tuple(str(facts[key]) for key in keys), []).append(facts)
    return groups


def of_rules(found: list[dict[str, Any]]) -> None:
    """DIME: accuracy with all patches, and for each rule with 15 % of them on average."""
    rows = []
    by_dime = [facts for facts in found if facts["method"] == "dime" and facts["tag"] in TAGS]
    for (data, backbone, tag), same in grouped(by_dime, "data", "backbone", "tag").items():
        whole = [f["all_patches"]["accuracy"] for f in same]
        few = {rule: [at(f, rule, FEW) for f in same] for rule in ("budget", "confidence", "penalty")}
        share = float(np.mean(few["penalty"])) / float(np.mean(whole))
        name = BACKBONES[backbone] + TAGS[tag]
        numbers = [with_spread(whole), *(with_spread(few[rule]) for rule in few)]
        rows.append([data, name, str(len(same)), *numbers, f"{100 * share:.1f} %"])
    show(rows, ["set", "backbone", "seeds", "all 64", "budget", "confidence", "penalty", "of all"])


def of_methods(found: list[dict[str, Any]]) -> None:
    """Area under accuracy and AUROC over 0 to 32 patches, for every method."""
    rows = []
    for (data, backbone, method, tag), same in grouped(found, "data", "backbone", "method", "tag").items():
        if "sketch" in tag:
            continue
        rule = best_rule(same[0])
        areas = [[f["area"][r][m] for f in same] for r in ("budget", rule) for m in ("accuracy", "auroc")]
        whole = with_spread([f["all_patches"]["accuracy"] for f in same])
        seconds = float(np.mean([f["seconds"]["training"] for f in same]))
        name = method + (f" ({tag})" if tag else "")
        numbers = [with_spread(area, 2) for area in areas]
        about = [data, BACKBONES.get(backbone, backbone), name, str(len(same))]
        rows.append([*about, *numbers[:2], rule, *numbers[2:], whole, f"{seconds:.0f} s"])
    rows.sort(key=lambda row: (row[0], row[1], -float(row[7].split()[0])))
    head = ["set", "backbone", "method", "seeds", "budget: accuracy", "AUROC"]
    show(rows, [*head, "own rule", "accuracy", "AUROC", "all 64", "training"])


def of_priors(found: list[dict[str, Any]]) -> None:
    """The sketch as prior information: accuracy under a penalty."""
    rows = []
    wanted_runs = ("tinyimagenet10_64", "resnet", "dime")
    on_one = [f for f in found if (f["data"], f["backbone"], f["method"]) == wanted_runs and f["tag"] != "long"]
    for wanted, name in PRIORS.items():
        same = [facts for facts in on_one if prior_of(facts["settings"]) == wanted]
        if same:
            numbers = [with_spread([at(f, "penalty", n) for f in same]) for n in (1, 2, 4, 8, 16, 64)]
            rows.append([name, str(len(same)), *numbers])
    show(rows, ["sketch", "seeds", "1", "2", "4", "8", "16", "64"])


def prior_of(settings: dict[str, Any]) -> tuple[Any, Any, Any]:
    return settings.get("prior"), settings.get("prior_for", "both"), settings.get("stop_gradient", False)


def of_step() -> None:
    """What benchmarks.speed.image_step has measured."""
    for file in ("image_step.json", "image_step_50.json"):
        held = json.loads((RESULTS / file).read_text())
        rows = [
            [name, f"{v['milliseconds']:.0f} ms", f"{v['times_faster']:.1f}", f"{v['memory_gb']:.1f} GB"]
            for name, v in held["found"].items()
        ]
        show(rows, [f"{held['steps']} steps", f"a batch of {held['batch']}", "times faster", "memory"])


def draw(found: list[dict[str, Any]], folder: Path) -> None:
    """Curves: the three rules of DIME, and DIME beside other methods."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, draws in (("rules", _rules), ("methods", _methods)):
        figure = Figure(figsize=(11, 6.8), layout="constrained")
        places = figure.subplots(2, 3, sharex=True, sharey="row")
        for place, (data, backbone) in zip(places.flat, DRAWN, strict=True):
            same_set = [f for f in found if f["data"] == data]
            draws(place, [f for f in same_set if f["backbone"] in (backbone, "its own") and not f["tag"]])
            _label(place, f"{data.split('_')[0]}, {BACKBONES[backbone]}")
        for place in places[:, 0]:
            place.set_ylabel("accuracy, %")
        figure.supxlabel("patches on average, of 64")
        shown: dict[str, Any] = {}
        for place in places.flat:
            lines, labels = place.get_legend_handles_labels()
            shown |= dict(zip(labels, lines, strict=True))
        figure.legend(shown.values(), shown.keys(), frameon=False, loc="outside upper center", ncols=3)
        figure.savefig(folder / f"images_{name}.png", dpi=110)


def _label(place: Any, title: str) -> None:
    place.set_title(title, fontsize=10)
    place.set(xscale="log", xlim=(1, 64))
    place.set_xticks(NUMBERS, [str(n) for n in NUMBERS])
    place.minorticks_off()
    place.spines[["top", "right"]].set_visible(False)
    place.grid(alpha=0.3)


def _mean_curve(same: list[dict[str, Any]], rule: str) -> tuple[Any, Any]:
    numbers = np.geomspace(1, N_PATCHES, 60)
    return numbers, 100 * np.mean([[at(f, rule, n) for n in numbers] for f in same], axis=0)


def _rules(place: Any, found: list[dict[str, Any]]) -> None:
    same = [f for f in found if f["method"] == "dime"]
    for rule, (colour, style) in RULES.items():
        if same:
            place.plot(*_mean_curve(same, rule), color=colour, linestyle=style, linewidth=2, label=rule)


def _methods(place: Any, found: list[dict[str, Any]]) -> None:
    for method in METHODS:
        same = [f for f in found if f["method"] == method]
        if same:
            rule = best_rule(same[0])
            place.plot(*_mean_curve(same, rule), color=COLOURS[method], linewidth=2, label=f"{method} ({rule})")


def main(argv: Sequence[str] | None = None) -> None:
    options = Options(__doc__)
    options.add_written("--pictures", None, "folder to draw in", smoke="pictures")
    args = options.read(argv)
    found = runs()
    of_rules(found)
    of_methods(found)
    of_priors(found)
    of_step()
    if args.pictures is not None:
        draw(found, args.pictures)


if __name__ == "__main__":
    main()
