"""Runs that are kept: one JSON file for each, so that a benchmark that was killed goes on; and trials of settings."""

from __future__ import annotations

import argparse
import hashlib
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import askwise
from askwise.data.whole_file import whole_file
from benchmarks.shared.options import OUT, ROOT, Options, tiny
from benchmarks.shared.results import facts, rounded

RESULTS = ROOT / "benchmarks" / "results"
# The layers that decide what a training gives.
LAYERS = ("core", "data", "networks", "training", "model", "methods")


def setting(text: str) -> tuple[str, Any]:
    """A setting from NAME=VALUE: the value is JSON, or else text."""
    name, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


class RunOptions(Options):
    """Options of a benchmark whose runs are kept, with defaults or with settings that are tried.

    What is tried goes to benchmarks/out instead of benchmarks/results, unless --out is given.
    """

    def __init__(self, description: str | None, name: str, seeds: int) -> None:
        super().__init__(description, out=RESULTS / name)
        self.name = name
        self.add("--seeds", type=int, default=seeds, smoke=1, help="runs, each with a seed of its own")
        trial = "a setting of the estimator other than its default; choose by validation rows"
        self.add_argument("--set", action="append", default=[], type=setting, metavar="NAME=VALUE", help=trial)
        self.add_argument("--on", choices=("test", "validation"), default="test", help="rows to evaluate on")
        self.add_argument("--again", action="store_true", help="run what is there already again")

    def read(self, argv: Sequence[str] | None = None) -> argparse.Namespace:
        args = super().read(argv)
        args.set = dict(args.set)
        if (args.set or args.on != "test") and args.out == RESULTS / self.name:
            args.out = OUT / self.name
        return args


def estimator(args: argparse.Namespace, method: Any, seed: int, **own: Any) -> Any:
    """An untrained estimator: its defaults, what the table needs, and the settings that are tried."""
    return method(**{"random_state": seed} | own | tiny(args, method) | args.set)


def code_fingerprint() -> str:
    """Changes with every module that training and asking run through."""
    digest = hashlib.sha256()
    for layer in LAYERS:
        for path in sorted((Path(askwise.__file__).parent / layer).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


class Runs:
    """Runs by name. A run whose file is there is read, not run again."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.code = code_fingerprint()
        self.older: list[str] = []

    def get(self, name: str, measure: Callable[[], dict[str, Any]], is_ours: bool = True) -> dict[str, Any]:
        """The results of a run. is_ours: it trains our estimator, so that it depends on settings and code."""
        file = self._file(name, is_ours)
        if file.exists() and not self.args.again:
            kept = json.loads(file.read_text())
            if is_ours and kept["code"] != self.code:
                self.older.append(file.stem)
            return kept
        found = measure()
        about = {"facts": facts(), "on": self.args.on}
        if is_ours:
            about |= {"code": self.code, "settings": self.args.set}
        file.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(file) as part:
            part.write_text(json.dumps(rounded(about | found), indent=1))
        print(f"{file.stem}:", ", ".join(_short(found)), flush=True)
        return found

    def _file(self, name: str, is_ours: bool) -> Path:
        tried = [f"{key}={value}" for key, value in sorted(self.args.set.items())] if is_ours else []
        on = [] if self.args.on == "test" else [self.args.on]
        parts = [name, *on, *(["smoke"] if self.args.smoke else []), *tried]
        return self.args.out / (re.sub(r"[^\w.=+-]+", "_", "-".join(parts)) + ".json")

    def print_notes(self) -> None:
        """Say under a table what its figures are, if they are not those of the defaults, test rows and this code."""
        if self.args.set:
            print("A trial, not the defaults:", ", ".join(f"{k}={v!r}" for k, v in self.args.set.items()))
        if self.args.on != "test":
            print("On validation rows, not on test rows.")
        if self.args.smoke:
            print("With --smoke: stand-ins for the data and tiny networks; the figures mean nothing.")
        if self.older:
            print("Kept from runs of other code (--again runs them again):", ", ".join(self.older))


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """Mean and standard error over runs; the error of one run is not known."""
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return float(np.mean(values)), float(error)


def shown(values: Sequence[float], digits: int = 3) -> str:
    """Mean and standard error as text."""
    mean, error = mean_and_error(values)
    return f"{mean:.{digits}f}" + ("" if np.isnan(error) else f" ± {error:.{digits}f}")


def _short(found: dict[str, Any]) -> list[str]:
    """The single numbers of a run."""
    return [f"{key} {value:.4g}" for key, value in found.items() if isinstance(value, int | float)]
