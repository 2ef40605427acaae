"""Record pieces of work for traces, such as an API call or a webhook attempt, with their SQL statements.

    with log_context(payment_id=payment.pk), traced("follow swap"):
        ...

Nothing is recorded until `config.observe.spans` calls `start`. This module doesn't import OpenTelemetry, so traced code
costs almost nothing if traces are off.
"""

import logging
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Literal

logger = logging.getLogger(__name__)

# Work with more statements repeats similar ones, so the first statements are enough.
MAX_STATEMENTS = 100

Kind = Literal["server", "client", "internal"]
Ids = Mapping[str, str]


@dataclass(frozen=True)
class Statement:
    """An executed statement, without its parameters. Times are in Unix nanoseconds."""

    sql: Any
    began: int
    ended: int
    error: str


@dataclass
class Work:
    """A piece of work. Times are in Unix nanoseconds.

    If the work concerns several payments, `subjects` has the ids of each payment. If it concerns one payment, the ids
    are in the log context. If `joins` is True, the work belongs to the trace of its payment request. Otherwise it
    belongs to the trace `trace_id`.
    """

    name: str
    kind: Kind
    joins: bool
    subjects: Sequence[Ids]
    began: int = field(default_factory=time.time_ns)
    ended: int = 0
    error: str = ""
    is_kept: bool = True
    details: dict[str, str | int] = field(default_factory=dict)
    statements: list[Statement] = field(default_factory=list)
    statements_left_out: int = 0
    trace_id: int = field(default_factory=lambda: random.getrandbits(128) or 1)
    span_id: int = field(default_factory=lambda: random.getrandbits(64) or 1)
    _tick: int = field(default_factory=time.perf_counter_ns)

    def now(self) -> int:
        """Return the time in Unix nanoseconds.

        The time never goes back: only the start is read from the system's clock, and a monotonic clock counts from
        there.
        """
        return self.began + time.perf_counter_ns() - self._tick


_write: Callable[[Work], None] | None = None
_current: ContextVar[Work | None] = ContextVar("work", default=None)
_NOTHING: AbstractContextManager[None] = nullcontext()


def start(write: Callable[[Work], None]) -> None:
    """Start recording. `write` is called at the end of each piece of work, in the same thread and log context."""
    global _write
    _write = write


def stop() -> None:
    global _write
    _write = None


def current() -> Work | None:
    """Return this thread's current work. Return None if there is none, or if recording is off."""
    return _current.get()


@contextmanager
def traced(
    name: str,
    kind: Kind = "internal",
    *,
    about: Callable[[], Sequence[Ids]] | None = None,
    joins: bool = True,
) -> Iterator[None]:
    """Record the block as one piece of work.

    `about` returns the work's `subjects`, and is called only if recording is on.
    """
    if _write is None:
        yield
        return
    work = Work(name, kind, joins, about() if about else ())
    token = _current.set(work)
    try:
        yield
    except BaseException as error:
        work.error = type(error).__name__
        raise
    finally:
        _end(work)
        _current.reset(token)


def describe(details: Mapping[str, str | int], *, name: str = "", error: str = "") -> None:
    """Add details to the current work, if there is any."""
    work = _current.get()
    if work is not None:
        work.details.update(details)
        work.name = name or work.name
        work.error = error or work.error


def leave_out() -> None:
    """Don't record the current work."""
    work = _current.get()
    if work is not None:
        work.is_kept = False


def statement(sql: Any) -> AbstractContextManager[None]:
    """Return a context that records a statement without its parameters."""
    work = _current.get()
    return _NOTHING if work is None else _recorded(work, sql)


@contextmanager
def _recorded(work: Work, sql: Any) -> Iterator[None]:
    began, error = work.now(), ""
    try:
        yield
    except BaseException as raised:
        error = type(raised).__name__
        raise
    finally:
        if len(work.statements) < MAX_STATEMENTS:
            work.statements.append(Statement(sql, began, work.now(), error))
        else:
            work.statements_left_out += 1


def _end(work: Work) -> None:
    work.ended = work.now()
    if _write is None or not work.is_kept:
        return
    try:
        _write(work)
    except Exception:
        # An error in tracing must not fail the work.
        logger.warning("a trace could not be written", exc_info=True)
