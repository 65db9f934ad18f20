"""The served models, by name, and the sessions that run on them."""

from __future__ import annotations

import asyncio
import json
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
from askwise.core.stopping import parse_rule
from askwise.methods.session_loading import load_for_sessions
from askwise.model.session_model import SessionModel
from askwise.service.errors import NotFound, RequestError
from askwise.service.examples import Photo, find_photos
from askwise.session.replies import least_value_now, session_facts
from askwise.session.session import Session

SUFFIX = ".askwise"
SLOW_SECONDS = 0.005
Result = TypeVar("Result")
# Python collects warnings for the whole process at once.
_warnings_lock = threading.Lock()


@dataclass(frozen=True)
class Terms:
    """The terms of a session: its rule, checked and ready to run, prices, notes on them, and prevalence."""

    rule: StoppingRule | None
    costs: dict[str, Any] | None
    notes: tuple[str, ...] = ()
    prior: dict[str, float] | None = None

    def reply(self, session: Session) -> dict[str, Any]:
        """The state of a session under these terms, as JSON."""
        return session_facts(session) | {"penalty": least_value_now(session), "notes": list(self.notes)}


@dataclass(frozen=True)
class ServedModel:
    """A model under its name."""

    name: str
    model: SessionModel
    stop: StoppingRule | None
    facts: dict[str, Any]
    # Whether a step takes so long that other requests must not wait for it.
    is_slow: bool = False
    # Photos for the page of an image model, as JSON.
    examples: tuple[dict[str, Any], ...] = ()
    _cached_terms: Any = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_cached_terms", lru_cache(maxsize=256)(self._resolve_terms))

    @staticmethod
    def load(path: Path, photos: Sequence[Photo] = ()) -> ServedModel:
        name, loaded = path.name.removesuffix(SUFFIX), load_for_sessions(path)
        model = loaded.model_
        facts = {"name": name, "fingerprint": model.fingerprint, **loaded.facts}
        layout = getattr(model.schema, "layout", None)
        examples = () if layout is None else tuple(photo.as_json(layout) for photo in photos)
        return ServedModel(name, model, loaded.stop, facts, _seconds_per_step(model) > SLOW_SECONDS, examples)

    async def run(self, compute: Callable[..., Result], *arguments: Any) -> Result:
        """Compute here, or in a thread if the model is slow: a thread costs more than a fast step."""
        return await asyncio.to_thread(compute, *arguments) if self.is_slow else compute(*arguments)

    def terms(
        self, stop: str | None, costs: Mapping[str, Any] | None, prior: Mapping[str, float] | None = None
    ) -> Terms:
        """The rule of a text (by default the rule of training) under these prices, at this prevalence."""
        return self._cached_terms(
            stop, *(json.dumps(part, sort_keys=True) if part else None for part in (costs, prior))
        )

    def _resolve_terms(self, stop: str | None, costs: str | None, prior: str | None) -> Terms:
        prices, shares = (None if part is None else json.loads(part) for part in (costs, prior))
        _locate_errors("prior", self.model.prior_shift, shares)
        all_costs = _locate_errors("costs", self.model.costs, prices)
        rule = self.stop if stop is None else _locate_errors("stop", parse_rule, stop)
        with _warnings_lock, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", AskwiseWarning)
            ready = _locate_errors("stop", self.model.rule, rule, all_costs, shares)
        return Terms(ready, prices, tuple(dict.fromkeys(str(w.message) for w in caught)), shares)

    def new_session(self, terms: Terms) -> Session:
        return Session(self.model, terms.rule, terms.costs, prior=terms.prior)

    def session(self, terms: Terms, answers: Mapping[str, Any], declined: Iterable[str]) -> Session:
        """A session in which all this was said."""
        return Session.from_answers(self.model, answers, declined, terms.rule, terms.costs, terms.prior)

    def sketch(self, image: Any) -> dict[str, Any]:
        """The sketch of a whole image, as the model was trained with them."""
        from askwise.data.images.sketches import sketch_of

        layout = getattr(self.model.schema, "layout", None)
        if layout is None:
            raise RequestError(f"the model {self.name!r} is of tables, and there is no sketch of those")
        return {"sketch": _locate_errors("image", sketch_of, layout, image)}


def _locate_errors(part: str, read: Callable[..., Result], *given: Any) -> Result:
    """Read a part of a request; an error names that part."""
    try:
        return read(*given)
    except AskwiseError as error:
        error.about = part
        raise


def _seconds_per_step(model: SessionModel) -> float:
    """How long a new session takes to its first question. A first one, not counted, prepares the model."""
    Session(model).ask()
    started = time.perf_counter()
    Session(model).ask()
    return time.perf_counter() - started


class Catalogue:
    """Every served model. A name is only looked up here: it never becomes a path."""

    def __init__(self, models: Sequence[ServedModel]) -> None:
        self.models = {served.name: served for served in models}
        repeated = [name for name in self.models if sum(served.name == name for served in models) > 1]
        if repeated:
            raise AskwiseError(
                f"two model files are called {repeated[0]!r}, and a model is served under the name of its file without "
                f"{SUFFIX}; rename one of them"
            )

    @staticmethod
    def read(paths: Sequence[Path], examples: Path | None = None) -> Catalogue:
        """Load models from their files. Image models get photos from the folder of examples."""
        photos = [] if examples is None else find_photos(examples)
        models = [ServedModel.load(path, photos) for path in paths]
        if photos and not any(served.examples for served in models):
            raise AskwiseError(
                f"--examples are photos for models of images, and {listed([served.name for served in models])} "
                f"{'is' if len(models) == 1 else 'are'} of tables; leave it out"
            )
        return Catalogue(models)

    def find(self, name: str) -> ServedModel:
        if name not in self.models:
            raise NotFound(f"there is no model {name[:80]!r}; served here: {listed(self.models)}")
        return self.models[name]

    def with_fingerprint(self, fingerprint: str) -> ServedModel | None:
        return next((served for served in self.models.values() if served.model.fingerprint == fingerprint), None)
