"""The bodies of requests and replies; the OpenAPI document is made from them."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Discriminator, FailFast, Field, Tag

from askwise.core import ranking
from askwise.core.step import NOTHING_LEFT
from askwise.core.stopping import RULES, rules_help
from askwise.session.replies import STOPPED_BY_USER

ANSWERS = {"age": 63, "exercise test": {"max HR": 150, "exerc ind ang": None}}
# One white pixel.
PICTURE = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGP4DwABAQEAsUiCrgAAAABJRU5ErkJggg=="
)
STOP = (
    f"When to stop: {rules_help()}, joined by |, which stops when any of them "
    "says so. Without it, the rule that the model was trained with, else everything is asked."
)
REASON = f"{', '.join([*(name for name, rule in RULES.items() if rule.why), NOTHING_LEFT])} or {STOPPED_BY_USER}."
LOOKAHEAD_PER_COST = (
    "What this question and those after it bring, per cost, if the model looks ahead; null if it looks at one question."
)
OWN_COST = "What of the cost is the question's own; the rest is shared with others, and paid once."
RANKED_BY = "; ".join(f"`{name}`: by {words}" for name, words in ranking.RANKED_BY.items()) + "."
# Limits that hold before anything else reads a body, so that the time of a check is bounded.
MAX_NAMES, MAX_ROWS = 10_000, 20_000
# Wide enough for everybody, narrow enough that sums and values per cost stay finite.
Price = Annotated[float, Field(ge=1e-9, le=1e12, allow_inf_nan=False, strict=True)]
SharedAmount = Annotated[float, Field(ge=0, le=1e12, allow_inf_nan=False, strict=True)]
Revision = Annotated[
    int | None,
    Field(
        ge=0,
        description="The revision the client has seen. Where the session has moved on meanwhile, or the request was "
        "sent twice, nothing happens and the reply is 409.",
    ),
]


class RequestBody(BaseModel):
    """A request body: an unknown key is an error."""

    model_config = ConfigDict(extra="forbid")


class SharedPrice(RequestBody):
    """What several questions share: it is paid with the first of them that is asked."""

    price: SharedAmount = Field(description="0: it is paid already.")
    questions: Annotated[list[str], FailFast()] = Field(alias="for", min_length=1, max_length=MAX_NAMES)


OneOrShared = Annotated[
    Annotated[Price, Tag("price")] | Annotated[SharedPrice, Tag("shared")],
    Discriminator(lambda given: "shared" if isinstance(given, dict) else "price"),
]


class Known(RequestBody):
    """What is known about one case."""

    answers: dict[str, Any] = Field(
        default_factory=dict,
        max_length=MAX_NAMES,
        description="Values by column, or by question; a question of several columns takes an object. A patch of an "
        "image takes a data URL of a picture, or its pixels as lists of lines of whole numbers from 0 to 255. null: it "
        "can't be had.",
        examples=[ANSWERS],
    )
    declined: Annotated[list[str], FailFast()] = Field(
        default_factory=list,
        max_length=MAX_NAMES,
        description="Questions that can't be had: not asked, not paid.",
        examples=[["thal"]],
    )


class TermsBody(RequestBody):
    """The terms of asking: when to stop, and prices."""

    stop: str | None = Field(default=None, max_length=1000, description=STOP, examples=["budget=100|confidence=0.1"])
    costs: dict[str, OneOrShared] | None = Field(
        default=None,
        max_length=MAX_NAMES,
        description="Other prices than those of training; the rest stay. An object is a price that several questions "
        "share: it is paid with the first of them that is asked.",
        examples=[{"thal": 50, "draw": {"price": 2.1, "for": ["TSH", "T3"]}}],
    )

    prior: dict[str, float] | None = Field(
        default=None,
        max_length=MAX_NAMES,
        description="How frequent labels are, if it is another share than in training. It moves predictions and rules "
        "that look at them; questions and their values stay. Labels that are not named share the rest.",
        examples=[{"sick": 0.02}],
    )

    @property
    def prices(self) -> dict[str, Any] | None:
        """The costs as they were given."""
        if self.costs is None:
            return None
        return {n: p.model_dump(by_alias=True) if isinstance(p, SharedPrice) else p for n, p in self.costs.items()}


class Case(Known, TermsBody):
    """One case, and the terms of asking about it."""


class Batch(TermsBody):
    """Many cases under the same terms."""

    rows: Annotated[list[Known], FailFast()] = Field(
        max_length=MAX_ROWS, examples=[[{"answers": {"age": 63}}, {"answers": {}, "declined": ["thal"]}]]
    )


class Tell(RequestBody):
    """An answer: to the question that was asked, or to any other open one."""

    name: str = Field(description="A question, one column of it, or a free column.", examples=["thal"])
    value: Any = Field(description="null: it can't be had.", examples=["normal"])
    revision: Revision = None


class Whole(RequestBody):
    """A whole image, for its sketch."""

    image: Any = Field(
        description="A data URL of a picture at the model's size, or its pixels as lists.", examples=[PICTURE]
    )


class Decline(RequestBody):
    """A question that can't be had."""

    name: str = Field(examples=["thal"])
    revision: Revision = None


class Change(RequestBody):
    """A change that needs no more words."""

    revision: Revision = None


REQUEST_KEYS = tuple(
    dict.fromkeys(key for body in (Case, Batch, Tell, Decline, Change, Whole) for key in body.model_fields)
)


class OfferedAnswer(BaseModel):
    """An answer to choose, as it is sent and as a person reads it."""

    value: str | float
    text: str


class Input(BaseModel):
    """One value that a question asks for, and what it may be."""

    name: str
    text: str
    help: str
    unit: str
    kind: str = Field(description="number, boolean, category or pixels")
    choices: list[str] | None
    low: float | None = Field(description="The least value seen in training; others are allowed.")
    high: float | None
    whole: bool | None
    min: float | None = Field(description="Lesser numbers are refused; null if no limit was given.")
    max: float | None = Field(description="Larger numbers are refused.")
    offered: list[OfferedAnswer] | None = Field(
        description="Answers to choose from: categories that have words of their own, given numbers, or few whole "
        "numbers; null if there are none."
    )
    others: bool | None = Field(description="Whether numbers that are not offered may be answered.")
    shape: list[int] | None = Field(description="Of pixels: height, width, channels.")


class QuestionFacts(BaseModel):
    """A question and its price."""

    name: str
    text: str
    help: str
    cost: float
    own_cost: float | None = Field(description=OWN_COST)
    inputs: list[Input]


class Asked(QuestionFacts):
    """The question to ask next."""

    value: float = Field(description="Estimated information about the answer, in nats; for some methods a score.")
    value_per_cost: float
    lookahead_per_cost: float | None = Field(description=LOOKAHEAD_PER_COST)


class Candidate(BaseModel):
    """An open question."""

    name: str
    value: float
    cost: float
    value_per_cost: float
    lookahead_per_cost: float | None = Field(description=LOOKAHEAD_PER_COST)
    own_cost: float | None = Field(description=OWN_COST)


class Prediction(BaseModel):
    """The answer so far."""

    value: Any = Field(description="The likeliest label, or the number.")
    proba: dict[str, float] | None = Field(description="The probability of each label; null where it is a number.")


class ExpectedCost(BaseModel):
    """Between which numbers the mean cost of fresh cases is expected."""

    low: float
    high: float


class Reply(BaseModel):
    """What to do next about a case, and what is known of it."""

    question: Asked | None = Field(description="null when it is time to stop.")
    ranking: list[Candidate] = Field(description="Every open question, the best first.")
    ranked_by: str = Field(description=RANKED_BY)
    prediction: Prediction
    entropy: float | None = Field(description="How unsure the prediction is, in nats.")
    spent: float
    stopped: bool
    reason: str | None = Field(description=REASON)
    why: str | None = Field(description="The reason in words.")
    rule: str | None = Field(description="The rule that is run: what an average cost stands for, else `stop` as given.")
    expected_cost: ExpectedCost | None = Field(description="Of an average cost; null under any other rule.")
    answers: dict[str, Any] = Field(description="Everything known, by column.")
    declined: list[str]
    penalty: float | None = Field(description="The least value per cost that the rule still asks now.")
    notes: list[str] = Field(description="Remarks on the stopping rule and the prices.")
    remarks: dict[str, str] = Field(description="Remarks on answers, by column: outside what was seen in training.")


class SessionStart(BaseModel):
    """How a kept session was begun."""

    id: str
    created: str
    model: str
    fingerprint: str
    stop: str | None
    costs: dict[str, float | SharedPrice]
    prior: dict[str, float]


class SessionState(SessionStart, Reply):
    """A kept session."""

    revision: int
    closed: bool
    asked: list[str] = Field(description="Questions answered so far, in order.")


class Sketch(BaseModel):
    """The edges of an image; where the model takes it, it is free."""

    sketch: str = Field(description="A data URL of a PNG, as an answer to the free column `sketch` takes it.")


class BatchReply(BaseModel):
    """A reply for each row, in the same order."""

    rows: list[Reply]


class ModelEntry(BaseModel):
    """A served model."""

    name: str
    target: str | None
    task: dict[str, Any]
    n_questions: int
    fingerprint: str


class Models(BaseModel):
    """All that is served."""

    models: list[ModelEntry]


class ImageFacts(BaseModel):
    """How images are cut into patches, which are the questions line by line."""

    height: int = Field(description="In pixels, as all of these but `rows` and `columns`.")
    width: int
    channels: int = Field(description="3: red, green, blue. 1: grey.")
    patch: int = Field(description="The side of a patch.")
    rows: int = Field(description="Patches from top to bottom; the one in row 2, column 3 is called r2c3.")
    columns: int
    sketch: bool = Field(description="Whether it takes a sketch of the image, which is free: POST .../sketch makes it.")


class NamedSharedPrice(SharedPrice):
    """A shared price, and what it is called."""

    name: str


class ModelFacts(BaseModel):
    """All about a model: its questions, what it costs to be right, how it was trained."""

    name: str
    fingerprint: str
    method: str
    task: dict[str, Any]
    target: str | None
    image: ImageFacts | None = Field(description="Of a model of images; null where it is of tables.")
    questions: list[QuestionFacts]
    shared_prices: list[NamedSharedPrice] = Field(description="What is paid once for several questions.")
    free: list[Input] = Field(description="Columns that are never asked for; answer them where they are known.")
    frontier: list[dict[str, Any]] = Field(
        description="Average cost against the rule that is run, what it spends and metrics, on rows held out."
    )
    curve: list[dict[str, Any]] = Field(description="Each stopping rule against mean cost and metrics.")
    settings: dict[str, Any]
    card: dict[str, Any]


class Example(BaseModel):
    """A photo to try a model of images with."""

    name: str = Field(description="Its file within the folder of examples.", examples=["coast/0012.jpg"])
    image: str = Field(description="A data URL of a PNG at the model's size.", examples=[PICTURE])
    label: str | None = Field(description="What it is, where the folder has a sub-folder for each class.")


class Examples(BaseModel):
    """The photos that are offered; none where the server has no folder of them, or the model is of tables."""

    examples: list[Example]


class EventFacts(BaseModel):
    """Something that happened in a session, with the estimates at that moment."""

    seq: int
    at: str
    kind: str = Field(description="asked, told, declined, undone or stopped")
    fingerprint: str
    body: dict[str, Any]


class SessionRecord(SessionStart):
    """A session from its beginning."""

    events: list[EventFacts]


class ErrorFacts(BaseModel):
    message: str = Field(description="What was given, what is allowed, what to do.")
    where: str | None = Field(default=None, description="The part of the request, or the question, it is about.")


class Error(BaseModel):
    """Why a request was refused. Nothing has changed."""

    error: ErrorFacts
