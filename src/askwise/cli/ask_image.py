"""`askwise ask` about an image file: the file answers, so nobody has to."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from rich.text import Text

from askwise.cli import show
from askwise.cli.common import Out, save_png
from askwise.core.errors import AskwiseError

if TYPE_CHECKING:
    from askwise.core.step import StoppingRule
    from askwise.data.images.patches import PatchLayout
    from askwise.session.messages import Prediction
    from askwise.session.session import Session


# A smaller share of an image that is cut off is not mentioned.
SMALLEST_CUT = 0.005


def ask_image(
    out: Out,
    estimator: Any,
    file: Path,
    rule: StoppingRule | None,
    costs: dict[str, Any] | None,
    title: str,
    picture: Path | None,
    prior: dict[str, float] | None = None,
) -> None:
    """Ask for patches of the image until it is time to stop; print which, what each told, and the prediction."""
    from askwise.data.images.files import read_image

    _check_image(file)
    layout = estimator.model_.schema.layout
    image = read_image(file, layout.height, layout.width, layout.channels)
    size, outside = _size_and_cut(file, layout)
    session = _start_session(estimator, image, rule, costs, prior)
    first = session.prediction
    steps = _answer_questions(session, image, layout)
    out.print(Text(title, style="bold"))
    if size != (layout.height, layout.width):
        out.print(_scaling_text(size, outside, layout))
    predicted = _predicted_line(session, estimator)
    out.answer(predicted)
    out.print(_steps_table(session, layout.sketch, first, steps), "", *_last_lines(session, predicted))
    if picture is not None:
        if prior is not None:
            raise AskwiseError("-o draws predictions at the prevalence of training; leave out one of --prior and -o")
        from askwise.report.plots.images import case_picture

        save_png(case_picture(estimator, image, stop=rule, costs=costs), picture)
        out.print(f"Picture: {picture}")
    out.result(_result(session, file, steps, picture) | {"image_size": size, "outside": outside})


def _check_image(file: Path) -> None:
    if file.is_dir():
        raise AskwiseError(f"{file} is a folder; give one image: --image FILE")
    if not file.is_file():
        raise AskwiseError(f"there is no file {file}; give an image: --image FILE")


def _start_session(
    estimator: Any,
    image: Any,
    rule: StoppingRule | None,
    costs: dict[str, Any] | None,
    prior: dict[str, float] | None,
) -> Session:
    """Return a session that knows the sketch of the image, if the model uses one."""
    from askwise.data.images.patches import SKETCH
    from askwise.data.images.sketches import sketches

    known = {SKETCH: sketches(image[None])[0]} if estimator.model_.schema.layout.sketch else None
    return cast("Session", estimator.session(stop=rule, costs=costs, known=known, prior=prior))


def _answer_questions(session: Session, image: Any, layout: PatchLayout) -> list[dict[str, Any]]:
    """Answer every question with the pixels of its patch; return the steps for JSON."""
    position = session.model.schema.space.position
    steps = []
    while (question := session.ask()) is not None:
        session.tell(question.name, image[layout.window(position[question.name])])
        step = {"patch": question.name, "cost": question.cost, "value": question.value}
        steps.append({**step, "spent": session.spent, "prediction": _facts(session.prediction)})
    return steps


def _size_and_cut(file: Path, layout: PatchLayout) -> tuple[tuple[int, int], float]:
    """Return height and width of an image file, and the share of it that is cut off to fit the model."""
    from askwise.data.images.pictures import open_picture, shown_size

    height, width = shown_size(open_picture(file))
    scale = max(layout.height / height, layout.width / width)
    return (height, width), max(0.0, 1 - layout.height * layout.width / (height * width * scale**2))


def _scaling_text(size: tuple[int, int], outside: float, layout: PatchLayout) -> str:
    height, width = size
    to = f"{layout.width} x {layout.height}"
    cut = f" and cut to {to}: {outside:.0%} of it lies outside"
    return f"{width} x {height} pixels, scaled{cut if outside >= SMALLEST_CUT else f' to {to}'}"


def _facts(prediction: Prediction) -> dict[str, Any]:
    """Return the prediction after a step: of classes the likeliest, with its probability."""
    probability = None if prediction.proba is None else prediction.proba[prediction.value]
    return {"value": prediction.value, "probability": probability}


def _prediction_text(facts: dict[str, Any]) -> str:
    if facts["probability"] is None:
        return show.format_number(facts["value"])
    return f"{facts['value']} ({facts['probability']:.1%})"


def _steps_table(session: Session, has_sketch: bool, first: Prediction, steps: list[dict[str, Any]]) -> Any:
    score = "value" if session.model.is_information else "score"
    table = show.grid("", "patch", score, "cost", "spent", "prediction", texts=["patch", "prediction"])
    known = "(the sketch)" if has_sketch else "(nothing yet)"
    table.add_row("", Text(known), "", "", "0", Text(_prediction_text(_facts(first))))
    for i, step in enumerate(steps, 1):
        numbers = [show.format_number(step[name]) for name in ("value", "cost", "spent")]
        table.add_row(str(i), Text(step["patch"]), *numbers, Text(_prediction_text(step["prediction"])))
    return show.titled("Patch by patch, rows and columns counted from 1", table)


def _predicted_line(session: Session, estimator: Any) -> str:
    target = estimator.model_.card.get("target", "prediction")
    return f"{target}: {_prediction_text(_facts(session.prediction))}"


def _last_lines(session: Session, predicted: str) -> list[Text]:
    from askwise.session.replies import in_words

    of = show.count(session.model.schema.space.n_groups, "patch").replace("patchs", "patches")
    return [
        Text(f"Stopped: {in_words(str(session.reason))}"),
        Text(predicted, style="bold green"),
        Text(f"{len(session.asked)} of {of} seen, spent {show.format_number(session.spent)}"),
    ]


def _result(session: Session, file: Path, steps: list[dict[str, Any]], picture: Path | None) -> dict[str, Any]:
    """Return what the service replies about the same answers, and the steps; the answers themselves are pixels."""
    from askwise.session.replies import session_facts

    facts = {name: fact for name, fact in session_facts(session).items() if name != "answers"}
    files = {} if picture is None else {"picture": str(picture)}
    return {"image": str(file), **facts, "asked": session.asked, "steps": steps, "files": files}
