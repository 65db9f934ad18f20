"""Sessions that a program answers: what it fetches, and what happens where it can't."""

import asyncio
import contextvars
import subprocess
import sys
import threading
import time
from functools import partial

import numpy as np
import pytest
import torch

from askwise import AskwiseError, AverageCost, Budget, Confidence, DimeClassifier, Penalty
from askwise.data.tables.column import is_missing

SHORT = 0.05
GOOD = {
    "sex": "male", "pressure": 150, "smoker": "yes", "scan": 2, "site": 7,
    "exercise test": {"rate": 140, "pain": "often"},
}  # fmt: skip
NAMES = set(GOOD)


def from_row(row, question):
    """A question's value in a row of a table, None where it is missing."""
    values = {c.name: None if is_missing(row[c.name]) else row[c.name] for c in question.columns}
    return values if len(values) > 1 else values[question.columns[0].name]


def run(session, acquire, timeout=None):
    return session.run(acquire, timeout)


def run_async(session, acquire, timeout=None):
    """As `run`, with a plain function made asynchronous."""

    async def later(question):
        await asyncio.sleep(0)
        return acquire(question)

    return asyncio.run(session.run_async(later, timeout))


WAYS = [run, partial(run, timeout=30), run_async, partial(run_async, timeout=30)]
ways = pytest.mark.parametrize("way", WAYS, ids=["plain", "thread", "async", "async with timeout"])


# What is fetched


class Sure:
    """A rule of a user's own."""

    def __str__(self):
        return "sure"

    def stops(self, step):
        return torch.softmax(step.belief.outputs, 1).amax(1) > 0.8


STOPS = [None, Budget(21), Confidence(0.3), Penalty(0.01), AverageCost(15), Budget(18) | Penalty(0.002), Sure()]


@ways
@pytest.mark.parametrize("stop", STOPS, ids=str)
def test_a_run_asks_what_the_trace_asked(clinic, new_cases, way, stop):
    """A trace knows beforehand what can't be had, so reasons are compared where everything can."""
    X = new_cases[0].head(30)
    acquired = clinic.acquire(X, stop=stop)
    for i, (_, row) in enumerate(X.iterrows()):
        session = clinic.session(stop=stop, known={"age": row["age"]})
        prediction = way(session, partial(from_row, row))
        assert session.asked == acquired.order[i]
        assert session.spent == pytest.approx(acquired.spent[i])
        assert list(prediction.proba.values()) == pytest.approx(acquired.proba[i].tolist(), abs=1e-6)
        assert session.failures == {}
        if not any(all(is_missing(row[c.name]) for c in clinic.model_.schema.columns_of(n)) for n in NAMES):
            assert session.reason == acquired.reason[i]


@ways
def test_a_run_of_a_regression_gives_the_number_of_the_trace(progression, diabetes, way):
    X = diabetes[0].head(3)
    acquired = progression.acquire(X, stop=Penalty(20))
    for i, (_, row) in enumerate(X.iterrows()):
        session = progression.session(stop=Penalty(20))
        assert way(session, partial(from_row, row)).value == pytest.approx(acquired.prediction[i])
        assert (session.asked, session.reason) == (acquired.order[i], acquired.reason[i])


@ways
@pytest.mark.parametrize("nothing", [None, float("nan"), {}], ids=str)
@pytest.mark.parametrize("stop", [None, Budget(50), Sure()], ids=str)
def test_a_run_ends_where_nothing_can_be_had(clinic, way, stop, nothing):
    session = clinic.session(stop=stop)
    before = session.prediction
    assert way(session, lambda _: nothing) == before
    assert set(session.declined) == NAMES
    assert session.failures == {}
    assert (session.spent, session.reason) == (0, "nothing-left")


def test_a_panel_named_after_one_of_its_columns_is_asked_once(cases, fast):
    session = DimeClassifier(groups={"rate": ["rate", "pain"]}, **fast).fit(*cases).session()
    asked, enough = [], iter([float("nan")] * 20)
    session.run(lambda question: asked.append(question.name) or next(enough))
    assert len(asked) == len(set(asked)) == 7


def test_a_run_goes_on_from_what_was_told_and_can_be_undone(clinic):
    session = clinic.session()
    session.tell("scan", 2)
    asked = []
    session.run(lambda question: asked.append(question.name) or GOOD[question.name])
    assert set(asked) == NAMES - {"scan"}
    assert [session.undo() for _ in asked] == asked[::-1]
    assert session.asked == ["scan"]


def test_a_run_that_has_nothing_to_ask_calls_nobody(clinic):
    session = clinic.session(stop=Budget(0))
    assert session.run(lambda _: 1 / 0) == session.prediction
    assert session.failures == {}


# What fails


def pressure_fails(act):
    """Fetches everything but the pressure, where something else happens."""
    return lambda question: act() if question.name == "pressure" else GOOD[question.name]


def throw(error):
    raise error


class Worse(Exception):
    def __str__(self):
        raise RuntimeError


class Unready:
    def __float__(self):
        raise RuntimeError("not measured yet")


FAILURES = [
    (lambda: {}["x"], "KeyError: 'x'"),
    (lambda: throw(TimeoutError("the server's own")), "TimeoutError: the server's own"),
    (lambda: throw(ConnectionError("two\nlines")), "ConnectionError: two lines"),
    (lambda: throw(OSError), "OSError"),
    (lambda: throw(ValueError("long " * 100)), "ValueError: " + "long " * 37 + "..."),
    (lambda: throw(Worse), f"{Worse.__module__}.Worse: <exception str() failed>"),
    (lambda: "high", "'pressure' takes a number, was given 'high'"),
    (lambda: float("inf"), "'pressure' takes a finite number, was given inf"),
    (lambda: {"presure": 3}, "unknown column of 'pressure': 'presure'; did you mean 'pressure'? allowed: 'pressure'"),
    (lambda: Unready(), "RuntimeError: not measured yet"),
]


@ways
@pytest.mark.parametrize(("act", "why"), FAILURES, ids=[why[:24] for _, why in FAILURES])
def test_what_fails_is_declined_and_said_in_one_line(clinic, way, act, why):
    session = clinic.session()
    prediction = way(session, pressure_fails(act))
    assert session.failures == {"pressure": why}
    assert session.declined == ["pressure"]
    expected = clinic.session()
    expected.run(pressure_fails(lambda: None))
    assert prediction == expected.prediction
    assert (session.asked, session.spent) == (expected.asked, expected.spent)
    assert session.answers == expected.answers


@ways
@pytest.mark.parametrize(
    ("value", "why"),
    [
        (140, "'exercise test' has 2 columns; tell it a mapping of column to value"),
        ({"rate": 140, "pain": "at times"}, "'pain' takes one of 'none', 'often', 'seldom'; was given 'at times'"),
    ],
)
def test_a_panel_with_an_impossible_value_is_declined_whole(clinic, way, value, why):
    session = clinic.session()
    way(session, lambda question: value if question.name == "exercise test" else GOOD[question.name])
    assert session.failures["exercise test"].startswith(why)
    assert session.declined == ["exercise test"]
    assert "rate" not in session.answers


def test_undoing_a_failure_forgets_it_and_asks_again(clinic):
    session = clinic.session()
    first = session.ask().name
    session.decline(first, why="the lab is closed")
    assert session.failures == {first: "the lab is closed"}
    assert session.undo() == first
    assert session.failures == {}
    session.run(lambda question: GOOD[question.name])
    assert first in session.asked


@ways
@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_ends_the_run_and_leaves_what_was_told(clinic, way, error):
    session, asked = clinic.session(), []

    def acquire(question):
        if len(asked) == 2:
            raise error
        asked.append(question.name)
        return GOOD[question.name]

    with pytest.raises(error):
        way(session, acquire)
    assert session.asked == asked
    assert session.failures == {}
    session.run(lambda question: GOOD[question.name])
    assert set(session.asked) == NAMES


def test_an_error_of_a_rule_is_no_failure_to_fetch(clinic):
    class Broken:
        def stops(self, step):
            return step.nonsense

    with pytest.raises(AttributeError, match="nonsense"):
        clinic.session(stop=Broken()).run(lambda question: GOOD[question.name])


# Time


def test_a_call_that_takes_too_long_is_left_behind_and_its_late_answer_ignored(clinic):
    session, go_on, workers = clinic.session(), threading.Event(), []

    def acquire(question):
        if question.name == "pressure":
            workers.append(threading.current_thread())
            go_on.wait(30)
        return GOOD[question.name]

    start = time.perf_counter()
    prediction = session.run(acquire, timeout=SHORT)
    assert time.perf_counter() - start < 15
    assert workers[0].is_alive()
    go_on.set()
    workers[0].join(30)
    assert session.failures["pressure"] == "timed out after 0.05 s"
    assert session.prediction == prediction
    assert "pressure" not in session.answers


@pytest.mark.parametrize("ending", ["is cancelled", "answers late", "fails late"])
def test_an_awaitable_that_takes_too_long_is_cancelled(clinic, ending):
    session, cancelled = clinic.session(), []

    async def acquire(question):
        if question.name == "pressure":
            try:
                await asyncio.sleep(30)
            except asyncio.CancelledError:
                cancelled.append(question.name)
                if ending == "is cancelled":
                    raise
                if ending == "fails late":
                    raise ValueError("late") from None
        return GOOD[question.name]

    asyncio.run(session.run_async(acquire, timeout=SHORT))
    assert cancelled == ["pressure"]
    assert session.failures == {"pressure": "timed out after 0.05 s"}
    assert set(session.asked) == NAMES - {"pressure"}


def test_cancelling_a_run_from_outside_ends_it(clinic):
    session = clinic.session()

    async def main():
        started = asyncio.Event()

        async def acquire(_):
            started.set()
            await asyncio.sleep(30)

        task = asyncio.create_task(session.run_async(acquire, timeout=20))
        await asyncio.wait_for(started.wait(), 30)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert (session.declined, session.failures) == ([], {})


def test_a_call_in_a_thread_sees_the_context_of_the_caller(clinic):
    patient = contextvars.ContextVar("patient")
    patient.set({**GOOD, "scan": 3})
    session = clinic.session()
    session.run(lambda question: patient.get()[question.name], timeout=30)
    assert session.answers["scan"] == 3


def test_a_call_left_behind_does_not_keep_the_interpreter(flowers, tmp_path):
    flowers.save(tmp_path / "flowers.askwise")
    program = (
        "import sys, time, askwise\n"
        "session = askwise.Session(askwise.NumpyModel.load(sys.argv[1]))\n"
        "session.run(lambda question: time.sleep(600), timeout=0.05)\n"
        "print(len(session.failures))\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "flowers.askwise")]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (ended.returncode, ended.stdout.strip(), ended.stderr) == (0, "4", "")


# Mistakes


@ways
@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf"), True, "2", [2]], ids=str)
def test_a_timeout_is_a_positive_number_or_none(clinic, way, timeout):
    with pytest.raises(AskwiseError, match="timeout takes a positive number of seconds, or None"):
        way(clinic.session(), lambda _: 1 / 0, timeout=timeout)


@pytest.mark.parametrize("timeout", [np.float32(60), np.int64(60), 10**400, 1e308], ids=str)
@pytest.mark.parametrize("way", [run, run_async])
def test_any_positive_number_is_a_timeout(clinic, way, timeout):
    session = clinic.session()
    way(session, lambda question: GOOD[question.name], timeout)
    assert set(session.asked) == NAMES


class Client:
    async def __call__(self, question):
        return GOOD[question.name]


async def fetch(_client, question):
    return GOOD[question.name]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("timeout", [None, 30])
@pytest.mark.parametrize("acquire", [Client(), partial(fetch, None), lambda question: fetch(None, question)])
def test_run_refuses_what_must_be_awaited_and_run_async_takes_it(clinic, acquire, timeout):
    session = clinic.session()
    with pytest.raises(AskwiseError, match=r"use await session.run_async\(acquire\)"):
        session.run(acquire, timeout=timeout)
    assert (session.answers, session.declined) == ({}, [])
    asyncio.run(session.run_async(acquire, timeout=timeout))
    assert set(session.asked) == NAMES


def test_run_refuses_an_async_function_also_where_nothing_is_asked(clinic):
    with pytest.raises(AskwiseError, match="acquire is asynchronous"):
        clinic.session(stop=Budget(0)).run(partial(fetch, None))


def test_run_async_refuses_what_returns_no_awaitable(clinic):
    session = clinic.session()
    with pytest.raises(AskwiseError, match=r"use session.run\(acquire\)"):
        asyncio.run(session.run_async(lambda question: GOOD[question.name]))
    assert (session.answers, session.declined) == ({}, [])


@pytest.mark.parametrize("way", [lambda s, a: s.run(a), lambda s, a: asyncio.run(s.run_async(a))])
def test_acquire_must_be_a_function(clinic, way):
    with pytest.raises(AskwiseError, match="acquire takes a function of a question, was given"):
        way(clinic.session(), GOOD)


def test_a_cancelled_source_counts_as_not_available_and_a_cancelled_run_ends(clinic):
    async def source(question):
        if question.name == "scan":
            inner = asyncio.create_task(asyncio.sleep(10))
            inner.cancel()
            await inner
        return

    async def run():
        session = clinic.session()
        await session.run_async(source)
        assert session.failures["scan"].endswith("CancelledError")
        waiting = asyncio.create_task(clinic.session().run_async(lambda _: asyncio.sleep(10)))
        await asyncio.sleep(0.01)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    asyncio.run(run())
