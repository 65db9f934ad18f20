"""Numbers about images: the way of one image from patch to patch, and how often each patch is asked of many."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from askwise.core.arrays import Array
from askwise.core.errors import AskwiseError
from askwise.core.rows import Rows
from askwise.core.step import StoppingRule
from askwise.core.stopping import rule_text
from askwise.core.tasks import Classification
from askwise.data.images.patches import SKETCH, PatchLayout
from askwise.data.images.schema import ImageSchema
from askwise.model.model import Acquisition, Model
from askwise.model.session_model import Costs
from askwise.session.session import Session

LONG_NUMBER = re.compile(r"\d+\.\d{5,}(e[-+]?\d+)?")


@dataclass(frozen=True)
class AskedImage:
    """An image, and which of its patches were asked.

    image (height, width, channels); sketch (height, width), or None where there is none; absent: bool for each patch,
    whether it can't be had; asked: patches by position, in the order asked.
    """

    layout: PatchLayout
    image: Array
    sketch: Array | None
    absent: Array
    asked: tuple[int, ...]


@dataclass(frozen=True)
class ImageCase(AskedImage):
    """An image as a session asked for it.

    After 0, 1, ... patches: values (moments, rows, columns), the estimate for each open patch and NaN for the others;
    answers (moments, labels), or (moments, 1) where a number is predicted. unit: that of the values, empty where they
    are only an order. rule: as it was given, in short numbers, with the penalty that it comes to; empty where there was
    none. reason: that of the session.
    """

    values: Array
    answers: Array
    labels: tuple[Any, ...] | None
    spent: float
    rule: str
    reason: str
    unit: str


def image_schema(model: Model) -> ImageSchema:
    """The schema of a model of images; an error for one of tables."""
    if not isinstance(model.schema, ImageSchema):
        raise AskwiseError(
            "this needs a model of images, whose patches are asked; the one given asks for columns of a table, which "
            "askwise.evaluation.summaries and askwise.report.plots.cases tell of"
        )
    return model.schema


def labels_of(model: Model) -> tuple[Any, ...] | None:
    """The labels of classes; None where a number is predicted."""
    return tuple(model.task.labels) if isinstance(model.task, Classification) else None


def asked_image(model: Model, row: Rows, asked: Sequence[str] = ()) -> AskedImage:
    """One encoded image, and the patches asked of it by name."""
    schema = image_schema(model)
    layout, x = schema.layout, row.x[0].cpu().numpy()
    there = layout.sketch and bool(row.present[0, -1])
    sketch = x[layout.n_pixels :].reshape(layout.height, layout.width).astype(np.uint8) if there else None
    positions = tuple(schema.space.position[name] for name in asked)
    return AskedImage(layout, schema.image(x), sketch, ~row.available[0].cpu().numpy(), positions)


def image_case(model: Model, row: Rows, stop: StoppingRule | None, costs: Costs = None) -> ImageCase:
    """What a session asks of one encoded image until the rule stops it; without a rule, every patch."""
    schema, start = image_schema(model), asked_image(model, row)
    rule = model.rule(stop, model.costs(costs))
    session = Session(model, rule, costs, None if start.sketch is None else {SKETCH: start.sketch})
    for patch in np.flatnonzero(start.absent):
        session.decline(schema.space.names[patch])
    values, answers = [_values(session, schema)], [_answer(session)]
    while (question := session.ask()) is not None:
        window = schema.layout.window(schema.space.position[question.name])
        session.tell(question.name, start.image[window])
        values.append(_values(session, schema))
        answers.append(_answer(session))
    unit = "nats" if isinstance(model.task, Classification) else f"squared units of {model.card.get('target') or 'y'}"
    return ImageCase(
        **vars(asked_image(model, row, session.asked)),
        values=np.stack(values),
        answers=np.stack(answers),
        labels=labels_of(model),
        spent=session.spent,
        rule=_rule_text(stop, rule),
        reason=session.reason or "",
        unit=unit if model.policy.is_information else "",
    )


def _rule_text(given: StoppingRule | None, run: StoppingRule | None) -> str:
    """A rule as people write it, and the one that is run if that is another."""
    if given is None or run is None:
        return ""
    short, runs = (LONG_NUMBER.sub(lambda found: _short(float(found[0])), rule_text(rule)) for rule in (given, run))
    return short if short == runs else f"{short} ({runs})"


def _short(value: float) -> str:
    return f"{value:.0f}" if 100 <= value < np.inf else f"{value:.3g}"


def _values(session: Session, schema: ImageSchema) -> Array:
    found = np.full(schema.layout.n_patches, np.nan)
    for candidate in session.ranking:
        found[schema.space.position[candidate.name]] = candidate.value
    return found.reshape(schema.layout.grid)


def _answer(session: Session) -> Array:
    prediction = session.prediction
    return np.array([prediction.value] if prediction.proba is None else list(prediction.proba.values()), dtype=float)


def patch_shares(model: Model, acquired: Acquisition) -> pd.DataFrame:
    """In which share of images each patch was asked: a line for each row of patches, counted from 1."""
    rows, columns = image_schema(model).layout.grid
    shares = acquired.known.to_numpy().mean(0).reshape(rows, columns)
    return pd.DataFrame(
        shares, index=pd.RangeIndex(1, rows + 1, name="row"), columns=pd.RangeIndex(1, columns + 1, name="column")
    )


def case_table(model: Model, acquired: Acquisition, truth: Array) -> pd.DataFrame:
    """What was asked of each image and what came of it, a line each; truth: as the model writes labels, or numbers."""
    labels, proba = labels_of(model), acquired.proba
    said: dict[str, Any] = {"prediction": acquired.prediction}
    if labels is not None and proba is not None:
        said = {"prediction": [labels[i] for i in proba.argmax(1)], "probability": proba.max(1)}
    return pd.DataFrame({"truth": truth, **said}).assign(
        patches=acquired.n_asked,
        order=[" ".join(names) for names in acquired.order],
        cost=acquired.spent,
        reason=acquired.reason,
    )


def mean_image(model: Model, rows: Rows) -> Array:
    """The mean (height, width, channels) of encoded images, uint8, each patch over those that have it."""
    schema = image_schema(model)
    n_pixels = schema.layout.n_pixels
    patch_of_pixel = np.array(schema.space.column_of_entry)[:n_pixels]
    total, count = np.zeros(n_pixels), np.zeros(n_pixels)
    for batch in rows.batches(512):
        # What is absent is 0 in a row, so that it adds nothing.
        total += batch.x[:, :n_pixels].double().sum(0).cpu().numpy()
        count += batch.present.sum(0).cpu().numpy()[patch_of_pixel]
    return schema.image(np.round(total / np.maximum(count, 1)))
