"""Every benchmark script still runs: each with --smoke, all in one process."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted(
    path.relative_to(ROOT).with_suffix("")
    for path in ROOT.glob("benchmarks/*/**/*.py")
    if path.parent.name != "shared" and path.name != "__init__.py"
)
# A script whose package is not installed is skipped; all else that can't be imported is a mistake.
OPTIONAL = {"matplotlib", "playwright", "PIL", "fastapi", "sqlalchemy", "uvicorn"}


@pytest.fixture
def run(monkeypatch):
    """Run a script as `python -m` would from the root of the repository."""
    monkeypatch.syspath_prepend(ROOT)

    def call(script, *options):
        name = ".".join(script.parts)
        try:
            importlib.import_module(name).main(options)
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] not in OPTIONAL:
                raise
            pytest.skip(f"{error.name} is not installed")
        except sys.modules["benchmarks.shared.options"].NotInstalled as missing:
            pytest.skip(str(missing))

    return call


@pytest.mark.parametrize("script", SCRIPTS, ids=str)
@pytest.mark.filterwarnings("ignore::askwise.core.errors.AskwiseWarning")
def test_script_runs_with_smoke(run, script, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    out = tmp_path / "out"
    run(script, "--smoke", "--out", str(out))
    # Whatever is written goes to the folder that was given.
    assert {path.name for path in tmp_path.iterdir()} <= {"out"}
