"""What every command shares: its flags, where it prints, and how it fails."""

from __future__ import annotations

import json
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer
from rich.console import Console, RenderableType
from rich.text import Text

from askwise.core.errors import AskwiseError, AskwiseWarning

MISTAKE, INTERRUPTED = 2, 130
WIDTH_OF_FILES = 110

JsonFlag = Annotated[bool, typer.Option("--json", help="Print one JSON object, and nothing else, on standard output.")]
QuietFlag = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="A model file, as written by `askwise train`.")]
OtherCosts = Annotated[
    Path | None,
    typer.Option("--costs", metavar="FILE", help="Other prices than in training: CSV (name,cost) or a JSON mapping."),
]


def console(stderr: bool = False) -> Console:
    """Where people read; wide enough for a table where no terminal says how wide it is."""
    stream: TextIO = sys.stderr if stderr else sys.stdout
    return Console(file=stream, highlight=False, width=None if stream.isatty() else WIDTH_OF_FILES)


class Out:
    """Where one command prints: results on standard output, notes and errors on standard error."""

    def __init__(self, as_json: bool, quiet: bool) -> None:
        self.as_json = as_json
        self.quiet = quiet
        self.when_interrupted = "Stopped."
        self._warned: set[str] = set()

    @property
    def bars(self) -> bool:
        """Whether somebody is there to watch a progress bar."""
        return sys.stderr.isatty() and not self.as_json and not self.quiet

    def say(self, *parts: RenderableType) -> None:
        """Something for people to read, where neither JSON nor silence was asked for."""
        if not self.as_json and not self.quiet:
            screen = console()
            for part in parts:
                # Lines of text are left whole, so that a command can be copied; tables fit the terminal.
                line = isinstance(part, (str, Text))
                screen.print(part, soft_wrap=line, markup=False)

    def note(self, text: str) -> None:
        """A remark beside the result."""
        if not self.quiet:
            typer.echo(text, err=True)

    def result(self, facts: dict[str, Any]) -> None:
        """The result, as one JSON object, where that was asked for."""
        if self.as_json:
            from askwise.model.file import plain

            typer.echo(json.dumps(plain(facts), allow_nan=False))

    def warn(
        self,
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        """One clean line for a warning, once, in place of Python's file and line."""
        del category, filename, lineno, file, line
        if str(message) not in self._warned:
            self._warned.add(str(message))
            self.note(f"Warning: {message}")


@contextmanager
def command(as_json: bool, quiet: bool) -> Iterator[Out]:
    """Run a command: a user's mistake ends it with one line and exit code 2, Ctrl-C with one line and 130."""
    out = Out(as_json, quiet)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", AskwiseWarning)
            warnings.showwarning = out.warn
            yield out
    except BrokenPipeError:
        raise
    except AskwiseError as error:
        raise _failed(str(error)) from None
    except OSError as error:
        raise _failed(f"{error.filename or 'a file'}: {error.strerror or error}") from None
    except KeyboardInterrupt:
        typer.echo(out.when_interrupted, err=True)
        raise typer.Exit(INTERRUPTED) from None


def _failed(message: str) -> typer.Exit:
    typer.echo(f"Error: {message}", err=True)
    return typer.Exit(MISTAKE)


def check_device(name: str) -> Any:
    """The device of that name; an error speaks of the option."""
    from askwise.methods.base import pick_device

    try:
        return pick_device(name)
    except AskwiseError as error:
        raise AskwiseError(str(error).replace("use device=", "use --device ")) from None


def check_file_can_be_written(path: Path) -> None:
    """Tell before an hour of training, not after it, that its result could not be saved."""
    if path.is_dir():
        name = "picture.png" if path.suffix.lower() == ".png" else "model.askwise"
        raise AskwiseError(f"{path} is a folder; give a file to write, such as {path / name}")
    check_folder_can_be_written(path.parent)


def check_folder_can_be_written(folder: Path) -> None:
    """Try the folder, or the nearest one above it that exists; nothing is left there."""
    there = next(p for p in (folder.absolute(), *folder.absolute().parents) if p.exists())
    if not there.is_dir():
        raise AskwiseError(f"{there} is a file, so nothing can be written into {folder}; choose another folder")
    try:
        with tempfile.TemporaryFile(dir=there):
            pass
    except OSError as error:
        raise AskwiseError(f"nothing can be written into {there} ({error.strerror}); choose another folder") from None
