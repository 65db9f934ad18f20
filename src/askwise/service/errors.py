"""The errors of requests, each with its HTTP status, and the reply that reports one."""

from __future__ import annotations

from starlette.responses import JSONResponse

from askwise.core.errors import AskwiseError

INTERNAL_ERROR = "something went wrong in the server; nothing more can be said here"


class RequestError(AskwiseError):
    """A request that can't be answered; the message says why and what to do."""

    status = 422


class NotFound(RequestError):
    status = 404


class Conflict(RequestError):
    """The request is valid, but the state of the session forbids it."""

    status = 409


class TooManySessions(RequestError):
    status = 429


class JournalUnavailable(RequestError):
    """The journal could not be reached; the message says whether the change may have been made."""

    status = 503


def error_response(
    status: int, message: str, where: str | None = None, headers: dict[str, str] | None = None
) -> JSONResponse:
    return JSONResponse({"error": {"message": message, "where": where}}, status, headers)
