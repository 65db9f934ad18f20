"""Imports of earlier releases: each goes on working, warns once, and gives what is at the new place."""

from __future__ import annotations

import importlib
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import askwise
from askwise.core.moved_names import DIVIDED, MOVED

BEFORE = "8420e26"
# Every module that this commit had, before folders became layers.
OLD_MODULES = [
    "acquisition",
    "arrays",
    "benchmark",
    "benchmark.cells",
    "benchmark.data",
    "benchmark.files",
    "benchmark.image_data",
    "benchmark.plan",
    "benchmark.plots",
    "benchmark.run",
    "benchmark.tables",
    "bundle",
    "calibration",
    "calibration_plots",
    "case_plots",
    "cli",
    "cli.ask",
    "cli.ask_image",
    "cli.cases",
    "cli.common",
    "cli.compare",
    "cli.compare_data",
    "cli.conversation",
    "cli.demo",
    "cli.evaluate",
    "cli.export",
    "cli.images",
    "cli.info",
    "cli.progress",
    "cli.serve",
    "cli.show",
    "cli.tables",
    "cli.target",
    "cli.train",
    "cli.verify",
    "data",
    "data.files",
    "data.image_files",
    "data.images",
    "data.pictures",
    "data.prices",
    "data.public",
    "data.questions",
    "data.sketches",
    "data.split",
    "data.synthetic",
    "data.synthetic.base",
    "data.synthetic.cube",
    "data.synthetic.discrete",
    "data.synthetic.gaussian",
    "data.table",
    "description",
    "errors",
    "evaluation",
    "export",
    "features",
    "fetching",
    "files",
    "image_cases",
    "image_plots",
    "methods",
    "methods.argmax_direct",
    "methods.base",
    "methods.binning",
    "methods.budgeted",
    "methods.checks",
    "methods.cmicot",
    "methods.concrete_autoencoder",
    "methods.cwcf",
    "methods.dime",
    "methods.dime_image",
    "methods.eddi",
    "methods.forward",
    "methods.hard_attention",
    "methods.image",
    "methods.image_baselines",
    "methods.image_inputs",
    "methods.imagining",
    "methods.mrmr",
    "methods.neural",
    "methods.opportunistic",
    "methods.q_learning",
    "methods.random_order",
    "methods.registry",
    "methods.static",
    "methods.table",
    "methods.teams",
    "model",
    "networks",
    "networks.backbones",
    "networks.concrete",
    "networks.conv",
    "networks.dropout",
    "networks.dueling",
    "networks.hard_attention",
    "networks.image_pair",
    "networks.incremental",
    "networks.mlp",
    "networks.one_row",
    "networks.pair",
    "networks.pair_policy",
    "networks.partial_vae",
    "networks.pixels",
    "networks.prior_pair",
    "networks.scaling",
    "networks.vit",
    "patches",
    "plots",
    "policy",
    "processes",
    "replies",
    "report",
    "report_calibration",
    "report_cases",
    "report_page",
    "service",
    "service.app",
    "service.bodies",
    "service.catalogue",
    "service.examples",
    "service.exports",
    "service.guard",
    "service.kept",
    "service.refusals",
    "service.server",
    "service.sessions",
    "service.storage",
    "service.strict_json",
    "service.watch",
    "session",
    "stopping",
    "summaries",
    "tasks",
    "training",
    "training.checkpoint",
    "training.draws",
    "training.episodes",
    "training.loop",
    "training.objectives",
    "training.q_learning",
    "training.recording",
    "training.replay",
    "training.schedule",
    "training.temperature",
    "training.update",
    "training.variation",
    "verification",
    "verification_plots",
    "verification_trials",
]

# The imports that its pages showed, and what they named by a path.
DOCUMENTED = [
    "from askwise import AverageCost, Budget, Confidence, DimeClassifier, Penalty, Session, load",
    "from askwise import AverageCost, DimeImageClassifier, Penalty",
    "from askwise import Rule",
    "from askwise import sketch",
    "from askwise.benchmark import TableData, compare",
    "from askwise.calibration import calibration",
    "from askwise.data.files import read_table",
    "from askwise.data.synthetic import DISTRIBUTIONS",
    "from askwise.image_plots import case_picture, examples_picture, selection_picture",
    "from askwise.model import Model",
    "from askwise.verification import compare",
]

NAMES = [
    (old, name, place, renamed or name)
    for old, places in DIVIDED.items()
    for place, names in places.items()
    for name, _, renamed in (entry.partition("=") for entry in names.split())
]


def deprecations(work):
    """Call something; return its result and the DeprecationWarnings that name askwise."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = work()
    return result, [one for one in caught if "askwise" in str(one.message)]


def import_quietly(path):
    return deprecations(lambda: importlib.import_module(f"askwise.{path}"))[0]


def has_file(path):
    """Whether a module or a package is still at this path."""
    place = Path(askwise.__file__).parent / path.replace(".", "/")
    return place.with_suffix(".py").exists() or (place / "__init__.py").exists()


@pytest.mark.parametrize("path", OLD_MODULES)
def test_every_module_goes_on_importing(path, monkeypatch):
    """One that is elsewhere now warns once, and names every place."""
    import_quietly(path.rpartition(".")[0] or "core")
    if not has_file(path):
        monkeypatch.delitem(sys.modules, f"askwise.{path}", raising=False)
    module, told = deprecations(lambda: importlib.import_module(f"askwise.{path}"))
    if has_file(path):
        assert told == []
        return
    (warning,) = told
    assert warning.category is DeprecationWarning
    assert str(warning.message).startswith(f"askwise.{path} has moved: import from askwise.")
    places = [MOVED[path]] if path in MOVED else DIVIDED[path]
    assert all(f"askwise.{place}" in str(warning.message) for place in places)
    if path in MOVED:
        assert module is importlib.import_module(f"askwise.{MOVED[path]}")


@pytest.mark.parametrize(("path", "name", "place", "new"), NAMES, ids=lambda value: value)
def test_every_name_of_a_divided_module_goes_on_importing(path, name, place, new, monkeypatch):
    module = import_quietly(path)
    monkeypatch.delitem(vars(module), name, raising=False)
    found = {}
    _, told = deprecations(lambda: exec(f"from askwise.{path} import {name}", found))
    assert found[name] is getattr(importlib.import_module(f"askwise.{place}"), new)
    (warning,) = told
    assert warning.category is DeprecationWarning
    # The line that is to be changed: Python shows such warnings only if they are about the user's own file.
    assert warning.filename == "<string>"
    # Names that are public have one place that stays.
    where = "askwise" if new == name and name in askwise.__all__ else f"askwise.{place}"
    expected = f"askwise.{path}.{name} has moved: import it from {where}"
    assert str(warning.message) == expected + (f" as {new}" if new != name else "")


@pytest.mark.parametrize("line", DOCUMENTED)
def test_every_import_of_the_pages_goes_on(line):
    found = {}
    deprecations(lambda: exec(line, found))
    assert all(found[name.strip()] is not None for name in line.partition("import ")[2].split(","))


def test_the_list_of_modules_is_complete():
    """Nothing is looked up that never was, and nothing that was is forgotten."""
    assert {*MOVED, *DIVIDED} <= set(OLD_MODULES)
    assert [path for path in OLD_MODULES if has_file(path) == (path in MOVED)] == [
        path for path in DIVIDED if not has_file(path)
    ]
    tree = ["git", "ls-tree", "-r", "--name-only", BEFORE, "src/askwise"]
    listed = subprocess.run(
        tree, cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=60, check=False
    )
    if listed.returncode:
        pytest.skip("the history is not here")
    files = [Path(line).relative_to("src/askwise") for line in listed.stdout.splitlines() if line.endswith(".py")]
    paths = {".".join(file.with_suffix("").parts).removesuffix(".__init__") for file in files}
    assert paths - {"__init__", "__main__", "_version"} == set(OLD_MODULES)


@pytest.mark.parametrize("path", DIVIDED)
def test_other_names_are_unknown(path):
    module = import_quietly(path)
    with pytest.raises(AttributeError, match=f"module 'askwise.{path}' has no attribute 'nothing'"):
        _ = module.nothing


def test_modules_that_never_were_are_not_found():
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("askwise.nothing")


@pytest.mark.parametrize("path", ["", ".data.images", ".evaluation", ".methods.dime", ".model", ".report", ".session"])
def test_a_package_with_names_of_before_loads_nothing_heavy(path):
    heavy = "[m for m in ('torch', 'pandas', 'sklearn', 'matplotlib') if m in sys.modules]"
    program = f"import sys, askwise{path}; print({heavy})"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert ended.stdout.strip() == "[]"
