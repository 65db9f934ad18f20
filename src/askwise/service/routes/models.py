"""Routes about models, and the stateless ones: nothing that is sent here is kept."""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from askwise.core.errors import AskwiseError
from askwise.service import bodies
from askwise.service.catalogue import Catalogue, ServedModel, Terms
from askwise.service.errors import RequestError
from askwise.service.responses import json_response


def model_routes(catalogue: Catalogue) -> APIRouter:
    router = APIRouter(prefix="/v1/models", tags=["models"])

    @router.get("", response_model=bodies.Models, summary="All models")
    async def models() -> Response:
        return json_response({"models": [_entry(served) for served in catalogue.models.values()]})

    @router.get("/{name}", response_model=bodies.ModelFacts, summary="All about a model")
    async def model(name: str) -> Response:
        return json_response(catalogue.find(name).facts)

    @router.get("/{name}/examples", response_model=bodies.Examples, summary="Example photos")
    async def examples(name: str) -> Response:
        """Photos at the model's size, where the server was started with --examples; of tables there are none."""
        return json_response({"examples": list(catalogue.find(name).examples)})

    return router


def stateless_routes(catalogue: Catalogue, max_rows: int) -> APIRouter:
    router = APIRouter(prefix="/v1/models/{name}", tags=["stateless"])

    @router.post("/next", response_model=bodies.Reply, summary="What to ask next")
    async def next_question(name: str, case: bodies.Case) -> Response:
        """Everything that is known goes in, the next question comes out; nothing is kept."""
        served = catalogue.find(name)
        return json_response(await served.run(_next, served, served.terms(case.stop, case.prices, case.prior), case))

    @router.post("/batch", response_model=bodies.BatchReply, summary="Many at once")
    async def batch(name: str, cases: bodies.Batch) -> Response:
        """The same as `next` for each of many rows."""
        served = catalogue.find(name)
        if len(cases.rows) > max_rows:
            raise RequestError(
                f"the batch has {len(cases.rows)} rows; at most {max_rows} are taken at once (--max-rows)"
            )
        return await asyncio.to_thread(_batch, served, cases)

    @router.post("/sketch", response_model=bodies.Sketch, summary="Sketch an image")
    async def sketch(name: str, whole: bodies.Whole) -> Response:
        """The edges of a whole image, for a model that takes them for nothing; nothing is kept."""
        return json_response(await asyncio.to_thread(catalogue.find(name).sketch, whole.image))

    return router


def _entry(served: ServedModel) -> dict[str, Any]:
    facts = served.facts
    return {name: facts[name] for name in ("name", "target", "task", "fingerprint")} | {
        "n_questions": len(facts["questions"])
    }


def _next(served: ServedModel, terms: Terms, known: bodies.Known) -> dict[str, Any]:
    return terms.reply(served.session(terms, known.answers, known.declined))


def _batch(served: ServedModel, cases: bodies.Batch) -> Response:
    terms = served.terms(cases.stop, cases.prices, cases.prior)
    replies = []
    for i, row in enumerate(cases.rows):
        try:
            replies.append(_next(served, terms, row))
        except AskwiseError as error:
            raise RequestError(f"row {i}: {error}", about=f"rows.{i}") from None
    return json_response({"rows": replies})
