"""What the service refuses, each with its HTTP status."""

from __future__ import annotations

from askwise.core.errors import AskwiseError


class Refusal(AskwiseError):
    """A request that can't be answered as it is; the message says why and what to do."""

    status = 422


class NotFound(Refusal):
    status = 404


class Conflict(Refusal):
    """The request is sound, and the state of what it is about forbids it."""

    status = 409


class TooMany(Refusal):
    status = 429


class Unavailable(Refusal):
    """Nothing was done, since the journal could not be reached: try again later."""

    status = 503
