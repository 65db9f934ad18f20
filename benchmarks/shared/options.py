"""Options that all benchmarks share: --out for what they write, and --smoke for sizes that run in a second or two."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
OUT = Path("benchmarks/out")
COMPARED = ROOT / "docs" / "compare" / "results.csv"
# Settings with --smoke, of each method those that it has.
TINY: dict[str, Any] = {
    "hidden": 8,
    "layers": 1,
    "max_steps": 4,
    "batch_size": 64,
    "learning_rate": 0.02,
    "pretrain_epochs": 2,
    "selection_epochs": 1,
    "epochs": 2,
    "n_samples": 2,
}


class NotInstalled(Exception):
    """A program that a benchmark needs is not on this machine."""


class Options(argparse.ArgumentParser):
    """A parser whose options may have a second default, which holds with --smoke.

    With --smoke nothing is written but in the folder of --out, by default a new temporary one.
    """

    def __init__(self, description: str | None, out: Path = OUT) -> None:
        super().__init__(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
        self._smoke: dict[str, Any] = {}
        self._needed: list[str] = []
        self._written: dict[str, str] = {}
        self.add_argument("--smoke", action="store_true", help="tiny sizes, bundled data: only to see that it runs")
        self.add_argument("--out", type=Path, default=out, help="folder for what is written (default: %(default)s)")

    def add(self, *names: str, smoke: Any, **settings: Any) -> None:
        """An option, and its default with --smoke."""
        self._smoke[self.add_argument(*names, **settings).dest] = smoke

    def add_data(self, name: str, help: str, smoke: Any = None, type: Any = Path) -> None:
        """An argument that must be given, but with --smoke."""
        self._needed.append(name)
        self.add(name, smoke=smoke, nargs="?", type=type, help=help)

    def add_written(self, name: str, default: Path | None, help: str | None = None, smoke: str | None = None) -> None:
        """An option that names a file or folder to write; with --smoke it lies in the folder of --out.

        smoke: its name there, where there is no default.
        """
        written = self.add_argument(name, type=Path, default=default, help=help)
        self._written[written.dest] = smoke or default.name

    def read(self, argv: Sequence[str] | None = None) -> argparse.Namespace:
        args = self.parse_args(argv)
        if args.smoke:
            self.set_defaults(**self._smoke, **dict.fromkeys(self._written), out=None)
            args = self.parse_args(argv)
            args.out = args.out or Path(tempfile.mkdtemp(prefix="askwise-smoke-"))
            for name, file in self._written.items():
                setattr(args, name, getattr(args, name) or args.out / file)
        elif missing := [name for name in self._needed if getattr(args, name) is None]:
            self.error(f"the following arguments are required: {', '.join(missing)}")
        for path in (getattr(args, name) for name in self._written):
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
        return args


def tiny(args: argparse.Namespace, method: Any) -> dict[str, Any]:
    """Settings that an estimator is trained with in a moment where --smoke is given; otherwise none."""
    return {name: value for name, value in TINY.items() if name in method().get_params()} if args.smoke else {}
