"""`askwise ask`: a conversation about one case in the terminal, or about the patches of an image file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from askwise.cli import images as pictures
from askwise.cli.ask_image import ask_image, check_picture
from askwise.cli.common import JsonFlag, ModelFile, OtherCosts, QuietFlag, command
from askwise.cli.conversation import Conversation
from askwise.cli.progress import busy
from askwise.core.errors import AskwiseError

if TYPE_CHECKING:
    from askwise.core.step import StoppingRule
    from askwise.session.session import Session

EXAMPLES = """\b
Examples:
  askwise ask heart.askwise
  askwise ask heart.askwise --stop average-cost=40
  askwise ask heart.askwise --stop "budget=100|confidence=0.1"
  askwise ask heart.askwise --answers known.json --json < answers.txt
  askwise ask digits.askwise --image seven.png --stop budget=5 -o way.png
"""


def ask(
    model: ModelFile,
    stop: Annotated[
        str | None,
        typer.Option(
            metavar="RULE",
            help="When to stop: budget=N, confidence=NATS, penalty=N or average-cost=N, joined by | ; "
            "without it, everything is asked.",
        ),
    ] = None,
    costs: OtherCosts = None,
    answers: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Answers known already: a JSON mapping, or what --json printed before."),
    ] = None,
    image: Annotated[
        Path | None, typer.Option(metavar="FILE", help="For a model of images: the image whose patches are asked.")
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE.png", help="With --image: draw here what was asked, and when."),
    ] = None,
    as_json: JsonFlag = False,
    quiet: QuietFlag = False,
) -> None:
    """Ask about one case, the best question first.

    Goes on until it is time to stop. Answers may also come from a pipe, one a line. With --json the conversation is
    held on standard error. Of an image file, patches are asked, and the file answers.
    """
    with command(as_json, quiet) as out:
        if picture is not None and image is not None:
            check_picture(picture)
        with busy(out, f"Reading {model.name}"):
            from askwise.data.tables.files import read_costs, read_mapping
            from askwise.methods.registry import load

            prices = None if costs is None else read_costs(costs)
            known = {} if answers is None else read_mapping(answers, "answers")
            estimator = load(model)
            given = _given(estimator, stop)
            # With AverageCost looked up in the model's frontier.
            rule = estimator.model_.rule(given, estimator.model_.costs(prices))
            _check_kind(model, pictures.layout_of(estimator) is not None, image, answers, picture)
        opening = f"{model.name}, " + ("until nothing is left" if given is None else f"stopping at {given}")
        if image is not None:
            ask_image(out, estimator, image, given, prices, f"{image} by {opening}", picture)
            return
        with busy(out, "Starting"):
            session = _session(estimator, rule, prices, known)
        conversation = Conversation(session, rule, str(estimator.model_.card.get("target", "prediction")), out)
        reason = conversation.hold(opening)
        out.result(_facts(session, reason))


def _check_kind(model: Path, has_images: bool, image: Path | None, answers: Path | None, picture: Path | None) -> None:
    """Raise an error for options that do not belong to a model of tables, or of images."""
    if has_images and image is None:
        raise AskwiseError(f"{model} asks for patches of an image; give one: --image FILE")
    if has_images and answers is not None:
        raise AskwiseError(f"the answers come from {image}, so leave --answers out")
    if not has_images and image is not None:
        raise AskwiseError(f"{model} asks for columns of a table, not for patches of an image; leave --image out")
    if not has_images and picture is not None:
        raise AskwiseError("-o draws what was asked of an image; leave it out, or use --json to keep what was said")


def _given(estimator: Any, stop: str | None) -> StoppingRule | None:
    """The rule as it was given, or else that of training."""
    from askwise.core.stopping import parse_rule

    return estimator.stop if stop is None else parse_rule(stop)


def _session(
    estimator: Any, rule: StoppingRule | None, costs: dict[str, float] | None, known: Mapping[str, Any]
) -> Session:
    """A session in which everything known has been told; what a former conversation printed is taken too."""
    session = estimator.session(stop=rule, costs=costs)
    columns = estimator.model_.schema.column_names
    declined: list[str] = []
    if isinstance(known.get("answers"), dict) and "answers" not in columns:
        declined = list(known.get("declined") or [])
        known = known["answers"]
    for name, value in known.items():
        if value is not None or name not in estimator.model_.schema.free:
            session.tell(name, value)
    for name in declined:
        session.decline(name)
    return session


def _facts(session: Session, reason: str) -> dict[str, Any]:
    """What the service replies about the same answers, and how it came to them."""
    from askwise.session.replies import in_words, session_facts

    return session_facts(session) | {"asked": session.asked, "reason": reason, "why": in_words(reason)}
