"""`askwise ask` about an image file: its patches are the answers, so that it runs by itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from askwise.cli import show
from askwise.cli.common import Out, check_file_can_be_written
from askwise.core.errors import AskwiseError

if TYPE_CHECKING:
    from askwise.core.step import StoppingRule
    from askwise.data.images.patches import PatchLayout
    from askwise.session.messages import Prediction
    from askwise.session.session import Session


# A smaller share of an image that is cut off is not told.
CUT = 0.005


def check_picture(path: Path) -> None:
    """Tell before anything is asked what would stop the picture after it."""
    from askwise.report.plots.style import require_matplotlib

    if path.suffix.lower() != ".png":
        raise AskwiseError(f"-o writes a PNG, was given {path}; give a name that ends in .png")
    check_file_can_be_written(path)
    require_matplotlib()


def ask_image(
    out: Out,
    estimator: Any,
    file: Path,
    rule: StoppingRule | None,
    costs: dict[str, float] | None,
    opening: str,
    picture: Path | None,
) -> None:
    """Ask for patches of the image until it is time to stop; say which, what each told, and the prediction."""
    from askwise.data.images.files import read_image
    from askwise.data.images.patches import SKETCH
    from askwise.data.images.sketches import sketches

    if file.is_dir():
        raise AskwiseError(f"{file} is a folder; give one image: --image FILE")
    if not file.is_file():
        raise AskwiseError(f"there is no file {file}; give an image: --image FILE")
    schema = estimator.model_.schema
    layout = schema.layout
    image = read_image(file, layout.height, layout.width, layout.channels)
    size, outside = _brought(file, layout)
    known = {SKETCH: sketches(image[None])[0]} if layout.sketch else None
    session = estimator.session(stop=rule, costs=costs, known=known)
    began, steps = session.prediction, []
    while (question := session.ask()) is not None:
        session.tell(question.name, image[layout.window(schema.space.position[question.name])])
        worth = {"patch": question.name, "cost": question.cost, "value": question.value}
        steps.append({**worth, "spent": session.spent, "prediction": _facts(session.prediction)})
    out.say(Text(opening, style="bold"))
    if size != (layout.height, layout.width):
        out.say(_fitted(size, outside, layout))
    out.say(_table(session, layout.sketch, began, steps), "", *_end(session, estimator))
    if picture is not None:
        _draw(estimator, image, rule, costs, picture)
        out.say(f"Picture: {picture}")
    out.result(_told(session, file, steps, picture) | {"image_size": size, "outside": outside})


def _brought(file: Path, layout: PatchLayout) -> tuple[tuple[int, int], float]:
    """Height and width of an image file, and the share of it that is cut off where it is brought to the model's."""
    from askwise.data.images.pictures import open_picture, shown_size

    height, width = shown_size(open_picture(file))
    scale = max(layout.height / height, layout.width / width)
    return (height, width), max(0.0, 1 - layout.height * layout.width / (height * width * scale**2))


def _fitted(size: tuple[int, int], outside: float, layout: PatchLayout) -> str:
    height, width = size
    to = f"{layout.width} x {layout.height}"
    cut = f" and cut to {to}: {outside:.0%} of it lies outside"
    return f"{width} x {height} pixels, scaled{cut if outside >= CUT else f' to {to}'}"


def _facts(prediction: Prediction) -> dict[str, Any]:
    """What is believed after a step: of classes the likeliest, with its probability."""
    sure = None if prediction.proba is None else prediction.proba[prediction.value]
    return {"value": prediction.value, "probability": sure}


def _words(believed: dict[str, Any]) -> str:
    if believed["probability"] is None:
        return show.short(believed["value"])
    return f"{believed['value']} ({believed['probability']:.1%})"


def _table(session: Session, has_sketch: bool, began: Prediction, steps: list[dict[str, Any]]) -> Any:
    worth = "value" if session.model.policy.is_information else "score"
    table = show.grid("", "patch", worth, "cost", "spent", "prediction", texts=["patch", "prediction"])
    first = "(the sketch)" if has_sketch else "(nothing yet)"
    table.add_row("", Text(first), "", "", "0", Text(_words(_facts(began))))
    for i, step in enumerate(steps, 1):
        numbers = [show.short(step[name]) for name in ("value", "cost", "spent")]
        table.add_row(str(i), Text(step["patch"]), *numbers, Text(_words(step["prediction"])))
    return show.titled("Patch by patch, rows and columns counted from 1", table)


def _end(session: Session, estimator: Any) -> list[Text]:
    from askwise.session.replies import in_words

    target = estimator.model_.card.get("target", "prediction")
    of = show.count(session.model.schema.space.n_groups, "patch").replace("patchs", "patches")
    return [
        Text(f"Stopped: {in_words(str(session.reason))}"),
        Text(f"{target}: {_words(_facts(session.prediction))}", style="bold green"),
        Text(f"{len(session.asked)} of {of} seen, spent {show.short(session.spent)}"),
    ]


def _draw(estimator: Any, image: Any, rule: StoppingRule | None, costs: dict[str, float] | None, picture: Path) -> None:
    from askwise.data.whole_file import whole_file
    from askwise.report.plots.images import case_picture

    figure = case_picture(estimator, image, stop=rule, costs=costs)
    with whole_file(picture) as part:
        figure.savefig(part, format="png")


def _told(session: Session, file: Path, steps: list[dict[str, Any]], picture: Path | None) -> dict[str, Any]:
    """What the service replies about the same answers, and how it came to them; the answers are the file's own."""
    from askwise.session.replies import session_facts

    facts = {name: fact for name, fact in session_facts(session).items() if name != "answers"}
    files = {} if picture is None else {"picture": str(picture)}
    return {"image": str(file), **facts, "asked": session.asked, "steps": steps, "files": files}
