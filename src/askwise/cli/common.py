"""What every command does: print, fail with one line, and check early what it will write."""

from __future__ import annotations

import json
import signal
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import typer
from rich.console import Console, RenderableType
from rich.text import Text

from askwise.cli.options import PrintOptions
from askwise.core.errors import AskwiseError, AskwiseWarning

MISTAKE, INTERRUPTED, TERMINATED = 2, 130, 143
WIDTH_OF_FILES = 110


def console(stderr: bool = False) -> Console:
    """Return a console; it is wide enough for a table if no terminal says how wide it is."""
    stream: TextIO = sys.stderr if stderr else sys.stdout
    return Console(file=stream, highlight=False, width=None if stream.isatty() else WIDTH_OF_FILES)


class Out:
    """Where one command prints: results on standard output, notes and errors on standard error."""

    def __init__(self, options: PrintOptions) -> None:
        self.as_json = options.as_json
        self.quiet = options.quiet
        self.interrupt_message = "Stopped."
        self._warned: set[str] = set()

    @property
    def shows_progress(self) -> bool:
        """Whether a progress bar can be seen."""
        return sys.stderr.isatty() and not self.as_json and not self.quiet

    def print(self, *parts: RenderableType) -> None:
        """Print results for people, unless JSON or silence was asked for."""
        if not self.as_json and not self.quiet:
            screen = console()
            for part in parts:
                # Lines of text are not wrapped, so a command can be copied. Tables fit the terminal.
                screen.print(part, soft_wrap=isinstance(part, (str, Text)), markup=False)

    def answer(self, text: str) -> None:
        """Print the one line for which a quiet command was run; JSON has it already."""
        if self.quiet and not self.as_json:
            typer.echo(text)

    def note(self, text: str) -> None:
        """Print a remark on standard error."""
        if not self.quiet:
            typer.echo(text, err=True)

    def result(self, facts: dict[str, Any]) -> None:
        """Print the result as one JSON object, if that was asked for."""
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
        """Print a warning once, as one line without Python's file and line."""
        del category, filename, lineno, file, line
        if str(message) not in self._warned:
            self._warned.add(str(message))
            self.note(f"Warning: {message}")


@contextmanager
def command(options: PrintOptions) -> Iterator[Out]:
    """Run a command: a user's mistake ends it with one line and exit code 2, Ctrl-C with one line and 130."""
    out = Out(options)
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
        typer.echo(out.interrupt_message, err=True)
        raise typer.Exit(INTERRUPTED) from None


@contextmanager
def stopped_by_sigterm(out: Out) -> Iterator[None]:
    """End at SIGTERM, which schedulers send, as at Ctrl-C: what is half written is removed first."""

    def stop(number: int, frame: Any) -> None:
        del number, frame
        raise SystemExit(TERMINATED)

    # Only a main thread may say what a signal does.
    in_main_thread = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGTERM, stop) if in_main_thread else None
    try:
        yield
    except SystemExit as ended:
        if ended.code == TERMINATED:
            typer.echo(out.interrupt_message, err=True)
        raise
    finally:
        if in_main_thread:
            signal.signal(signal.SIGTERM, before)


def _failed(message: str) -> typer.Exit:
    typer.echo(f"Error: {message}", err=True)
    return typer.Exit(MISTAKE)


def check_device(name: str) -> Any:
    """Return the device of that name; errors name the option --device."""
    from askwise.training.devices import pick_device

    try:
        return pick_device(name)
    except AskwiseError as error:
        raise AskwiseError(str(error).replace("use device=", "use --device ")) from None


def check_file_can_be_written(path: Path) -> None:
    """Raise an error before an hour of training, not after it, if its result can't be saved."""
    if path.is_dir():
        name = "picture.png" if path.suffix.lower() == ".png" else "model.askwise"
        raise AskwiseError(f"{path} is a folder; give a file to write, such as {path / name}")
    check_folder_can_be_written(path.parent)


def check_folder_can_be_written(folder: Path) -> None:
    """Raise an error if the folder, or the nearest existing one above it, can't be written; nothing is left there."""
    existing = next(p for p in (folder.absolute(), *folder.absolute().parents) if p.exists())
    if not existing.is_dir():
        raise AskwiseError(f"{existing} is a file, so nothing can be written into {folder}; choose another folder")
    try:
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError as error:
        raise AskwiseError(
            f"nothing can be written into {existing} ({error.strerror}); choose another folder"
        ) from None


def check_png(path: Path, option: str) -> None:
    """Raise an error, before anything else is done, if a picture can't be drawn and saved."""
    from askwise.report.plots.style import require_matplotlib

    if path.suffix.lower() != ".png":
        raise AskwiseError(f"{option} writes a PNG, was given {path}; give a name that ends in .png")
    check_file_can_be_written(path)
    require_matplotlib()


def save_png(figure: Any, path: Path) -> None:
    """Save a figure; the file appears only when it is whole."""
    from askwise.data.whole_file import whole_file

    with whole_file(path) as part:
        figure.savefig(part, format="png")
