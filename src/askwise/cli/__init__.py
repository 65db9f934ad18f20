"""The command line: parse, call the library, format. Commands import heavy packages only when they run."""

from __future__ import annotations

import io
import sys
from typing import Annotated

import typer

from askwise._version import __version__
from askwise.cli import ask, check, compare, demo, evaluate, export, info, predict, serve, train, verify
from askwise.cli.option_groups import with_option_groups

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    # Plain text: examples can be copied, and every error reads "Error: ...".
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="""\b
Examples:
  askwise demo
  askwise check cases.csv --target diagnosis
  askwise train cases.csv --target diagnosis --costs costs.csv --free age,sex -o heart.askwise
  askwise evaluate heart.askwise test.csv --report report/
  askwise predict heart.askwise patients.csv --stop average-cost=40 -o predictions.csv
  askwise ask heart.askwise --stop average-cost=40
  askwise serve heart.askwise
  askwise verify
  askwise compare digits --methods dime,random-order
""",
)
app.command(epilog=demo.EXAMPLES)(with_option_groups(demo.demo))
app.command(epilog=check.EXAMPLES)(with_option_groups(check.check))
app.command(epilog=train.EXAMPLES)(with_option_groups(train.train))
app.command(epilog=evaluate.EXAMPLES)(with_option_groups(evaluate.evaluate))
app.command(epilog=predict.EXAMPLES)(with_option_groups(predict.predict))
app.command(epilog=ask.EXAMPLES)(with_option_groups(ask.ask))
app.command(epilog=serve.EXAMPLES)(with_option_groups(serve.serve))
app.command(epilog=info.EXAMPLES)(with_option_groups(info.info))
app.command(epilog=export.EXAMPLES)(with_option_groups(export.export))
app.command(epilog=verify.EXAMPLES)(with_option_groups(verify.verify))
app.command(epilog=compare.EXAMPLES)(with_option_groups(compare.compare))


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Learn which question to ask next, for this case, and when to stop asking."""


def main() -> None:
    """Run the installed command."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        # A stream that can't encode the characters of a bar shows others, instead of a crash.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    app(prog_name="askwise")
