"""Modules that have moved: the names of before go on working, with a DeprecationWarning."""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

MOVED = {
    "arrays": "core.arrays",
    "benchmark": "studies.compare",
    "bundle": "model.file",
    "calibration": "evaluation.calibration",
    "calibration_plots": "report.plots.calibration",
    "case_plots": "report.plots.cases",
    "description": "model.description",
    "errors": "core.errors",
    "export": "model.onnx",
    "features": "core.features",
    "image_cases": "evaluation.image_cases",
    "image_plots": "report.plots.images",
    "patches": "data.images.patches",
    "policy": "core.policy",
    "replies": "session.replies",
    "stopping": "core.stopping",
    "summaries": "evaluation.summaries",
    "tasks": "core.tasks",
    "verification": "evaluation.known_truth",
    "verification_trials": "studies.verify.trials",
}


class MovedModules(MetaPathFinder, Loader):
    """Finds modules by the name they had before."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        package, _, name = fullname.rpartition(".")
        return ModuleSpec(fullname, self) if package == "askwise" and name in MOVED else None

    def exec_module(self, module: ModuleType) -> None:
        """Put the module at the new place here too."""
        old = module.__name__
        new = f"askwise.{MOVED[old.rpartition('.')[2]]}"
        warnings.warn(f"{old} has moved: import from {new}", DeprecationWarning, stacklevel=2)
        sys.modules[old] = importlib.import_module(new)


def find_moved_modules() -> None:
    """Let Python find modules by their names of before; once, after all other ways of finding them."""
    if not any(isinstance(finder, MovedModules) for finder in sys.meta_path):
        sys.meta_path.append(MovedModules())
