"""The models that are served, by name, and the sessions that are begun with them."""

from __future__ import annotations

import asyncio
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from askwise.core.errors import AskwiseError, AskwiseWarning, listed
from askwise.core.step import StoppingRule
from askwise.core.stopping import least_value, parse_rule
from askwise.data.images.schema import ImageSchema
from askwise.data.images.sketches import sketch_of
from askwise.methods.registry import load
from askwise.model.description import model_facts
from askwise.model.model import Model
from askwise.service.examples import Photo, find_photos
from askwise.service.refusals import NotFound, Refusal
from askwise.session.replies import session_facts
from askwise.session.session import Session

ENDING = ".askwise"
SLOW_SECONDS = 0.005
Result = TypeVar("Result")
# Python collects warnings for the whole process at once.
_collecting = threading.Lock()


@dataclass(frozen=True)
class Terms:
    """What a session runs under: its rule, ready to run, its prices, and remarks on them."""

    rule: StoppingRule | None
    costs: dict[str, float] | None
    notes: tuple[str, ...] = ()

    def told(self, session: Session) -> dict[str, Any]:
        """What a client is told of a session under these terms."""
        return session_facts(session) | {"penalty": least_value(self.rule), "notes": list(self.notes)}


@dataclass(frozen=True)
class Served:
    """A model under its name."""

    name: str
    model: Model
    stop: StoppingRule | None
    facts: dict[str, Any]
    # Whether a step takes so long that other requests must not wait for it.
    is_slow: bool = False
    # Photos for the page of a model of images, as a client gets them.
    examples: tuple[dict[str, Any], ...] = ()
    _terms: Any = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_terms", lru_cache(maxsize=256)(self._agree))

    @staticmethod
    def read(path: Path, photos: Sequence[Photo] = ()) -> Served:
        estimator = load(path)
        name, model = path.name.removesuffix(ENDING), estimator.model_
        facts = {"name": name, "fingerprint": model.fingerprint, **model_facts(estimator)}
        schema = model.schema
        told = tuple(photo.told(schema.layout) for photo in photos) if isinstance(schema, ImageSchema) else ()
        return Served(name, model, estimator.stop, facts, _seconds_a_step(model) > SLOW_SECONDS, told)

    async def run(self, compute: Callable[..., Result], *arguments: Any) -> Result:
        """Compute at once, or in a thread: what takes a fraction of a millisecond would only lose time there."""
        return await asyncio.to_thread(compute, *arguments) if self.is_slow else compute(*arguments)

    def terms(self, stop: str | None, costs: Mapping[str, float] | None) -> Terms:
        """The rule of a text (without one, the rule the model was trained with) under these prices."""
        return self._terms(stop, tuple(sorted(costs.items())) if costs else None)

    def _agree(self, stop: str | None, costs: tuple[tuple[str, float], ...] | None) -> Terms:
        prices = None if costs is None else dict(costs)
        paid = _naming("costs", self.model.costs, prices)
        rule = self.stop if stop is None else _naming("stop", parse_rule, stop)
        with _collecting, warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always", AskwiseWarning)
            ready = _naming("stop", self.model.rule, rule, paid)
        return Terms(ready, prices, tuple(dict.fromkeys(str(w.message) for w in said)))

    def session(self, terms: Terms, answers: Mapping[str, Any], declined: Iterable[str]) -> Session:
        return Session.from_answers(self.model, answers, declined, terms.rule, terms.costs)

    def sketch(self, image: Any) -> dict[str, Any]:
        """The sketch of a whole image, as the model was trained with them."""
        if not isinstance(self.model.schema, ImageSchema):
            raise Refusal(f"the model {self.name!r} is of tables, and there is no sketch of those")
        return {"sketch": _naming("image", sketch_of, self.model.schema.layout, image)}


def _naming(part: str, read: Callable[..., Result], *given: Any) -> Result:
    """Read a part of a request; what is wrong with it is about that part."""
    try:
        return read(*given)
    except AskwiseError as error:
        error.about = part
        raise


def _seconds_a_step(model: Model) -> float:
    """How long a new session takes to its first question; a first one, not counted, prepares the model."""
    Session(model).ask()
    started = time.perf_counter()
    Session(model).ask()
    return time.perf_counter() - started


class Catalogue:
    """Every served model. A name is only ever looked up here: it never becomes a path."""

    def __init__(self, models: Sequence[Served]) -> None:
        self.models = {served.name: served for served in models}
        twice = [name for name in self.models if sum(served.name == name for served in models) > 1]
        if twice:
            raise AskwiseError(
                f"two model files are called {twice[0]!r}, and a model is served under the name of its file without "
                f"{ENDING}; rename one of them"
            )

    @staticmethod
    def read(paths: Sequence[Path], examples: Path | None = None) -> Catalogue:
        """Models from their files, those of images with photos from the folder of examples."""
        photos = [] if examples is None else find_photos(examples)
        models = [Served.read(path, photos) for path in paths]
        if photos and not any(served.examples for served in models):
            raise AskwiseError(
                f"--examples are photos for models of images, and {listed([served.name for served in models])} "
                f"{'is' if len(models) == 1 else 'are'} of tables; leave it out"
            )
        return Catalogue(models)

    def find(self, name: str) -> Served:
        if name not in self.models:
            raise NotFound(f"there is no model {name[:80]!r}; served here: {listed(self.models)}")
        return self.models[name]

    def with_fingerprint(self, fingerprint: str) -> Served | None:
        return next((served for served in self.models.values() if served.model.fingerprint == fingerprint), None)
