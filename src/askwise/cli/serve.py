"""`askwise serve`: sessions over HTTP, and a page that asks the next question."""

from __future__ import annotations

import os
import sys
import webbrowser
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from askwise.cli.common import Out, command
from askwise.cli.gaps import note_gaps
from askwise.cli.options import PrintOptions
from askwise.cli.progress import busy
from askwise.core.errors import AskwiseError

EXAMPLES = """\b
Examples:
  askwise serve heart.askwise
  askwise serve heart.askwise kidney.askwise --port 9000 --journal sqlite:///journal.db
  askwise serve scenes.askwise --examples test-scenes/
  askwise serve heart.askwise --host 0.0.0.0 --token-file token.txt --journal postgresql://askwise@db/askwise
"""


@dataclass(frozen=True)
class ServiceOptions:
    """Where the service listens, what it keeps, and its limits."""

    host: Annotated[
        str, typer.Option("--host", metavar="NAME", help="Where to listen; elsewhere than here only with a token.")
    ] = "127.0.0.1"
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, metavar="N", help="The port; 0 takes any that is free.")
    ] = 8000
    token_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A file with the token that every request must bring.")
    ] = None
    journal: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Keep sessions in this database: sqlite:///journal.db or postgresql://user@host/database.",
        ),
    ] = None
    examples: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Photos that the page of an image model offers; with a sub-folder for each class, some of each.",
        ),
    ] = None
    max_sessions: Annotated[int, typer.Option(min=1, metavar="N", help="Kept sessions open at once.")] = 10_000
    idle_minutes: Annotated[
        float, typer.Option(min=0, metavar="N", help="A session idle for longer gives its place to a new one.")
    ] = 60.0
    max_rows: Annotated[int, typer.Option(min=1, max=20_000, metavar="N", help="Rows in one batch.")] = 1000
    max_body: Annotated[int, typer.Option(min=1, metavar="BYTES", help="Length of a request's body.")] = 1_048_576
    log_requests: Annotated[
        bool, typer.Option("--log-requests", help="A line for each request, without data, on standard error.")
    ] = False


def serve(
    models: Annotated[
        list[Path],
        typer.Argument(metavar="MODEL...", help="Model files; each is served under its name without .askwise."),
    ],
    *,
    options: ServiceOptions,
    printing: PrintOptions,
) -> None:
    """Serve models: an API for programs, a page for people.

    The page is at the address that is shown; the API under /v1, described in /v1/openapi.json. Ctrl-C ends it.
    """
    with command(printing) as out:
        require_service()
        run_service(out, models, options)


def require_service() -> None:
    """Raise an error that says what to install if the service's packages are missing."""
    try:
        import fastapi  # noqa: F401
        import sqlalchemy  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise AskwiseError(
            f"serving needs {error.name}, which is not installed; install it with: pip install 'askwise[serve]'"
        ) from None


def run_service(out: Out, models: Sequence[Path], options: ServiceOptions, open_page: bool = False) -> None:
    """Serve until a signal comes. Errors are told before anything listens."""
    with busy(out, "Starting"):
        from askwise.service.app import Limits, create_app
        from askwise.service.catalogue import Catalogue
        from askwise.service.server import address_of, bind, read_token
        from askwise.service.server import serve as serve_app
        from askwise.service.storage import Journal

        token = None if options.token_file is None else read_token(options.token_file)
        socket = bind(options.host, options.port, token is not None)
        catalogue = Catalogue.read(list(models), options.examples)
        journal = None if options.journal is None else Journal(options.journal)
        limits = Limits(options.max_sessions, 60 * options.idle_minutes, options.max_rows, options.max_body)
        app = create_app(catalogue, journal, token, limits, options.log_requests, options.host)
    address = address_of(socket)
    out.interrupt_message = "Stopped."
    out.result({"url": address, "models": list(catalogue.models), "journal": journal is not None})
    names = ", ".join(catalogue.models)
    for served in catalogue.models.values():
        note_gaps(out, served.model)
    out.print(f"Serving {names} at {address}  (API: {address}v1/openapi.json; Ctrl-C ends it)")
    if open_page and _has_screen() and not (out.as_json or out.quiet):
        webbrowser.open(address)
    serve_app(app, socket)


def _has_screen() -> bool:
    """Whether a window can be opened; a browser for the terminal would only stand in the way."""
    return sys.platform in ("darwin", "win32") or any(os.environ.get(n) for n in ("DISPLAY", "WAYLAND_DISPLAY"))
