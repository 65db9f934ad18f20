"""JSON replies, the error handlers, and the errors as the OpenAPI document describes them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from askwise.core.errors import AskwiseError, unknown_name
from askwise.service.bodies import REQUEST_KEYS, Error
from askwise.service.errors import INTERNAL_ERROR, error_response

MAX_MESSAGE = 600
ERROR_RESPONSES: dict[int | str, dict[str, Any]] = {
    401: {"model": Error, "description": "The token is missing or wrong."},
    403: {"model": Error, "description": "Without a token, a page of another site."},
    404: {"model": Error, "description": "There is no such model or session."},
    409: {"model": Error, "description": "The state of the session forbids it."},
    413: {"model": Error, "description": "The body is too long."},
    415: {"model": Error, "description": "The body is not JSON."},
    421: {"model": Error, "description": "Without a token, another host name than localhost."},
    422: {"model": Error, "description": "The body can't be meant; the message says why."},
    429: {"model": Error, "description": "Too many sessions are open."},
    503: {"model": Error, "description": "The journal can't be reached; the message says what that means."},
}
# For a route that replies with text, FastAPI would describe its errors as text too.
JSON_ERROR_RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {
        "description": error["description"],
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
    }
    for status, error in ERROR_RESPONSES.items()
}


def json_response(facts: dict[str, Any], status: int = 200, headers: dict[str, str] | None = None) -> Response:
    try:
        text = _dumps(facts)
    except (ValueError, TypeError):
        # A number that is not finite, or one of numpy's. Imported here, since it imports torch.
        from askwise.model.file import plain

        text = _dumps(plain(facts))
    return Response(text, status, headers, "application/json")


def _dumps(facts: dict[str, Any]) -> str:
    return json.dumps(facts, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def add_error_handlers(app: FastAPI) -> None:
    @app.exception_handler(AskwiseError)
    async def invalid_request(_: Request, error: AskwiseError) -> Response:
        status, about = getattr(error, "status", 422), error.about and _shortened(error.about)
        return error_response(status, _shortened(str(error)), about)

    @app.exception_handler(RequestValidationError)
    async def invalid_body(_: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        where = _shortened(".".join(_places(first["loc"])))
        return error_response(422, _shortened(f"{where} {_validation_message(first)}"), where)

    @app.exception_handler(HTTPException)
    async def http_error(_: Request, error: HTTPException) -> Response:
        return error_response(error.status_code, str(error.detail), headers=dict(error.headers or {}))

    @app.exception_handler(Exception)
    async def unexpected_error(_: Request, __: Exception) -> Response:
        # Starlette raises the error again for RequestLogging, which logs where it came from.
        return error_response(500, INTERNAL_ERROR)


def _places(loc: Sequence[int | str]) -> list[str]:
    """Where in a body an error is, without the kind of price that pydantic adds."""
    kinds = {"price", "shared"} if len(loc) > 3 and loc[1] == "costs" else set()
    return [str(part) for place, part in enumerate(loc) if place != 3 or part not in kinds]


def _validation_message(error: dict[str, Any]) -> str:
    """What is wrong with a part of a body, without the part itself."""
    if error["type"] == "extra_forbidden":
        key = error["loc"][-1]
        return f"can't be there: {unknown_name('key', key, [name for name in REQUEST_KEYS if name != key])}"
    words = {
        "missing": "is needed and was not given",
        "greater_than_equal": "must be at least {ge}",
        "less_than_equal": "must be at most {le}",
        "string_too_long": "is too long; at most {max_length} characters are taken",
    }.get(error["type"])
    if words is None:
        # Pydantic's messages begin with "Input should be a valid ...".
        return error["msg"].replace("Input should", "should", 1)
    return words.format(**error.get("ctx", {}))


def _shortened(text: str) -> str:
    # A lone surrogate can't be sent.
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= MAX_MESSAGE else f"{text[:MAX_MESSAGE]} ..."
