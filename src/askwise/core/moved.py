"""Imports of earlier releases go on working, with a DeprecationWarning that says where things are now."""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Sequence
from functools import partial
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from askwise.core.moved_names import DIVIDED, MOVED

ROOT = "askwise."


class MovedModules(MetaPathFinder, Loader):
    """Finds modules by the path they had before."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        old = fullname.removeprefix(ROOT)
        if old == fullname or (old not in MOVED and old not in DIVIDED):
            return None
        return ModuleSpec(fullname, self, is_package=any(path.startswith(f"{old}.") for path in (*MOVED, *DIVIDED)))

    def exec_module(self, module: ModuleType) -> None:
        """Put the module of now in the place of before; one that was divided looks its names up when they are used."""
        path = module.__name__
        old = path.removeprefix(ROOT)
        places = [MOVED[old]] if old in MOVED else list(DIVIDED[old])
        message = f"{path} has moved: import from {' or '.join(ROOT + place for place in places)}"
        warnings.warn(f"{message}; public names are in askwise itself", DeprecationWarning, stacklevel=2)
        if old in MOVED:
            sys.modules[path] = importlib.import_module(ROOT + MOVED[old])
        else:
            keep_old_names(path)


def find_moved_modules() -> None:
    """Let Python find modules by their paths of before; once, after all other ways of finding them."""
    if not any(isinstance(finder, MovedModules) for finder in sys.meta_path):
        sys.meta_path.append(MovedModules())


def keep_old_names(module: str) -> None:
    """Let a module give the names that it had before."""
    vars(sys.modules[module])["__getattr__"] = partial(moved_name, module)


def moved_name(module: str, name: str, stacklevel: int = 2) -> Any:
    """Return what a module had under a name before: the `__getattr__` of the module."""
    place, new = _places(module).get(name, ("", ""))
    if not place:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    renamed = f" as {new}" if new != name else ""
    public = new == name and name in vars(sys.modules["askwise"])["__all__"]
    message = f"{module}.{name} has moved: import it from {'askwise' if public else place}{renamed}"
    warnings.warn(message, DeprecationWarning, stacklevel=stacklevel)
    value = getattr(importlib.import_module(place), new)
    # Kept, so that the warning comes once: `from package import name` looks a name up twice.
    setattr(sys.modules[module], name, value)
    return value


def _places(module: str) -> dict[str, tuple[str, str]]:
    """Where each name of a divided module is now: the path of a module, and its name there."""
    places = {}
    for place, names in DIVIDED[module.removeprefix(ROOT)].items():
        for entry in names.split():
            old, _, new = entry.partition("=")
            places[old] = ROOT + place, new or old
    return places
