"""`askwise ask`: a conversation about one case in the terminal, or about the patches of an image file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from askwise.cli.ask_image import ask_image
from askwise.cli.common import check_png, command
from askwise.cli.conversation import Conversation
from askwise.cli.gaps import note_gaps
from askwise.cli.images import patch_layout
from askwise.cli.options import ModelFile, OtherCosts, OtherPrior, PrintOptions, output_option, parse_prior
from askwise.cli.progress import busy
from askwise.core.errors import AskwiseError

if TYPE_CHECKING:
    from askwise.core.step import StoppingRule
    from askwise.methods.session_loading import LoadedModel
    from askwise.session.session import Session

EXAMPLES = """\b
Examples:
  askwise ask heart.askwise
  askwise ask heart.askwise --stop average-cost=40
  askwise ask heart.askwise --stop "budget=100|confidence=0.1"
  askwise ask heart.askwise --answers known.json --json < answers.txt
  askwise ask digits.askwise --image seven.png --stop budget=5 -o way.png
"""
# As `core.stopping.rules_help` has it, which a test compares: it needs numpy, and the start of a command does not.
RULES_HELP = "budget=N, confidence=NATS, penalty=N, blend=N or average-cost=N"


def ask(
    model: ModelFile,
    *,
    stop: Annotated[
        str | None,
        typer.Option(
            metavar="RULE",
            help=f"When to stop: {RULES_HELP}, joined by | ; without it, everything is asked.",
        ),
    ] = None,
    costs: OtherCosts = None,
    prior: OtherPrior = None,
    answers: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Answers known already: a JSON mapping, or what --json printed before."),
    ] = None,
    image: Annotated[
        Path | None, typer.Option(metavar="FILE", help="For a model of images: the image whose patches are asked.")
    ] = None,
    picture: Annotated[
        Path | None, output_option("With --image: draw here what was asked, and when.", metavar="FILE.png")
    ] = None,
    printing: PrintOptions,
) -> None:
    """Ask about one case, the best question first.

    Goes on until it is time to stop. Answers may also come from a pipe, one a line. With --json the conversation is
    held on standard error. Of an image file, patches are asked, and the file answers.
    """
    with command(printing) as out:
        if picture is not None and image is not None:
            check_png(picture, "-o")
        with busy(out, f"Reading {model.name}"):
            from askwise.data.tables.files import read_costs, read_mapping
            from askwise.methods.session_loading import load_for_sessions

            prices, shares = None if costs is None else read_costs(costs), parse_prior(prior)
            known = {} if answers is None else read_mapping(answers, "answers")
            loaded = load_for_sessions(model)
            given_rule = _given_rule(loaded, stop)
            # The same with the rule that an average cost stands for, looked up in the model's frontier.
            rule = loaded.model_.rule(given_rule, loaded.model_.costs(prices), shares)
            _check_kind(model, patch_layout(loaded) is not None, image, answers, picture)
            loaded.model_.prior_shift(shares)
        note_gaps(out, loaded.model_)
        title = f"{model.name}, " + _rule_words(given_rule, rule, shares)
        if image is not None:
            ask_image(out, loaded.estimator, image, given_rule, prices, f"{image} by {title}", picture, shares)
            return
        with busy(out, "Starting"):
            session = _start_session(loaded, rule, prices, known, shares)
        conversation = Conversation(session, rule, str(loaded.model_.card.get("target", "prediction")), out)
        reason = conversation.run(title)
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


def _given_rule(loaded: LoadedModel, stop: str | None) -> StoppingRule | None:
    """Return the rule as it was given, or else that of training."""
    from askwise.core.stopping import parse_rule

    return loaded.stop if stop is None else parse_rule(stop)


def _rule_words(given: StoppingRule | None, run: StoppingRule | None, prior: dict[str, float] | None) -> str:
    """Say when it stops, and what an average cost is expected to spend; at another prior nobody knows."""
    from askwise.core.stopping import expected_cost

    if given is None:
        return "until nothing is left"
    expected = None if prior else expected_cost(run)
    return f"stopping at {given}" + ("" if expected is None else f" (cases are expected to cost {expected} on average)")


def _start_session(
    loaded: LoadedModel,
    rule: StoppingRule | None,
    costs: dict[str, Any] | None,
    known: Mapping[str, Any],
    prior: dict[str, float] | None,
) -> Session:
    """Return a session with the known answers; they may also be what an earlier conversation printed as JSON."""
    from askwise.session.session import Session

    session = Session(loaded, rule, costs, prior=prior)
    columns = loaded.model_.schema.column_names
    declined: list[str] = []
    if isinstance(known.get("answers"), dict) and "answers" not in columns:
        declined = list(known.get("declined") or [])
        known = known["answers"]
    for name, value in known.items():
        if value is not None or name not in loaded.model_.schema.free:
            session.tell(name, value)
    for name in declined:
        session.decline(name)
    return session


def _facts(session: Session, reason: str) -> dict[str, Any]:
    """Return what the service replies about the same answers, and how the conversation went."""
    from askwise.session.replies import in_words, session_facts

    return session_facts(session) | {"asked": session.asked, "reason": reason, "why": in_words(reason)}
