"""Values that a program fetches: within a time, and with a reason in one line where none came."""

from __future__ import annotations

import asyncio
import inspect
import math
import textwrap
import threading
import traceback
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextvars import copy_context
from typing import Any, NamedTuple, TypeVar

import numpy as np

from askwise.core.errors import AskwiseError, shortened

Asked = TypeVar("Asked")
LONGEST_REASON = 200


class Fetched(NamedTuple):
    """What was fetched: a value, or the reason why there is none."""

    value: Any = None
    failure: str | None = None


class OutOfTime(Exception):
    """A call took too long; `acquire` may raise a TimeoutError of its own, which is told in its own words."""


def in_one_line(error: BaseException) -> str:
    """An error as its last line in a traceback has it; one of ours, which says it all, without its type."""
    text = str(error) if isinstance(error, AskwiseError) else " ".join(traceback.format_exception_only(error))
    return textwrap.shorten(text, LONGEST_REASON, placeholder=" ...")


def seconds(timeout: float | None) -> float | None:
    """A time-out that can be waited for, None for no end; an error where it is no positive number."""
    if timeout is None:
        return None
    number = isinstance(timeout, (int, float, np.integer, np.floating)) and not isinstance(timeout, bool)
    if not number or not 0 < timeout < math.inf:
        raise AskwiseError(f"timeout takes a positive number of seconds, or None; was given {shortened(timeout)}")
    return float(min(timeout, threading.TIMEOUT_MAX))


def check_acquire(acquire: object, awaits: bool) -> None:
    """Raise a clear error where `acquire` can't be called, or belongs to the other way of running."""
    if not callable(acquire):
        raise AskwiseError(f"acquire takes a function of a question, was given {shortened(acquire)}")
    if not awaits and inspect.iscoroutinefunction(acquire):
        raise wrong_way(awaits)


def wrong_way(awaits: bool) -> AskwiseError:
    if awaits:
        return AskwiseError("acquire returned no awaitable; give an async function, or use session.run(acquire)")
    return AskwiseError("acquire is asynchronous; use await session.run_async(acquire), or give a plain function")


def fetch(acquire: Callable[[Asked], Any], question: Asked, limit: float | None) -> Fetched:
    """Call `acquire`, for at most `limit` seconds; only what is no `Exception`, as Ctrl-C, goes through."""
    try:
        value = acquire(question) if limit is None else _call_in_thread(acquire, question, limit)
    except OutOfTime:
        return _too_late(limit)
    except Exception as error:
        return Fetched(failure=in_one_line(error))
    if inspect.isawaitable(value):
        if inspect.iscoroutine(value):
            value.close()
        raise wrong_way(awaits=False)
    return Fetched(value)


async def fetch_async(acquire: Callable[[Asked], Awaitable[Any]], question: Asked, limit: float | None) -> Fetched:
    """Await what `acquire` returns, and cancel it after `limit` seconds; cancelling from outside goes through."""
    clock = asyncio.timeout(limit)
    value = None
    try:
        awaited = acquire(question)
        if inspect.isawaitable(awaited):
            async with clock:
                value = await awaited
    except asyncio.CancelledError as error:
        # Somebody wants this to end, or only what was awaited was cancelled.
        if _is_cancelled():
            raise
        return Fetched(failure=in_one_line(error))
    except Exception as error:
        return _too_late(limit) if clock.expired() else Fetched(failure=in_one_line(error))
    if not inspect.isawaitable(awaited):
        raise wrong_way(awaits=True)
    # One that answers although it was cancelled is late too.
    return _too_late(limit) if clock.expired() else Fetched(value)


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _too_late(limit: float | None) -> Fetched:
    return Fetched(failure=f"timed out after {limit:g} s")


def _call_in_thread(acquire: Callable[[Asked], Any], question: Asked, limit: float) -> Any:
    """The value of a call that is left behind once it takes too long: a thread can't be ended from outside."""
    outcome: Future[Any] = Future()

    def call() -> None:
        try:
            outcome.set_result(acquire(question))
        except BaseException as error:
            outcome.set_exception(error)

    # A daemon, since the interpreter waits for other threads, those of a pool too, before it ends.
    threading.Thread(target=copy_context().run, args=(call,), daemon=True).start()
    try:
        error = outcome.exception(limit)
    except TimeoutError:
        raise OutOfTime from None
    if error is not None:
        raise error
    return outcome.result()
