"""Lines as a person types them, at a terminal with the keys that edit a line, or as they come from a pipe."""

from __future__ import annotations

import contextlib
import sys

from rich.console import Console
from rich.text import Text


class EndOfInput(Exception):
    """Nothing more will be typed."""


class LineReader:
    """Shows a prompt on a screen and reads the line that answers it.

    is_terminal: whether somebody is there, who can be asked again.
    """

    def __init__(self, screen: Console, quiet: bool) -> None:
        self._screen = screen
        self._quiet = quiet
        self.is_terminal = sys.stdin is not None and sys.stdin.isatty()

    def read(self, prompt: str) -> str:
        """Read one line of input, without the space around it."""
        try:
            return self._read_line(prompt).strip()
        except KeyboardInterrupt:
            self._show("")
            raise

    def _read_line(self, prompt: str) -> str:
        if self._quiet and not self.is_terminal:
            prompt = ""
        if self.is_terminal and self._screen.file is sys.stdout and sys.stdout.isatty():
            with contextlib.suppress(ImportError):
                import readline  # noqa: F401
            try:
                return input(prompt)
            except EOFError:
                self._screen.print()
                raise EndOfInput from None
        self._screen.print(Text(prompt), end="", soft_wrap=True)
        self._screen.file.flush()
        line = "" if sys.stdin is None else sys.stdin.readline()
        if not line.endswith("\n") or not self.is_terminal:
            # Nobody's Enter has moved to the next line.
            self._show(line.strip())
        if not line:
            raise EndOfInput
        return line

    def _show(self, line: str) -> None:
        if not self._quiet:
            self._screen.print(Text(line), soft_wrap=True)
