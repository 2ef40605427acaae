"""Record pieces of work, such as a call, a check or an attempt, with their SQL statements.

    with log_context(payment_id=payment.pk), traced("follow swap"):
        ...

Recording begins with `start`, which `config.observe.spans` calls in a process that sends traces. This module imports no
OpenTelemetry, so traced code costs nothing if traces are off.
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

# A piece of work with more statements is a batch of similar ones.
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

    `subjects` are the ids of its several subjects; a single subject's ids are in its log context. `joins`: it belongs
    to the trace of its payment request; otherwise it has the trace `trace_id`.
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
        """Return the time by a monotonic clock."""
        return self.began + time.perf_counter_ns() - self._tick


_write: Callable[[Work], None] | None = None
_current: ContextVar[Work | None] = ContextVar("work", default=None)
_NOTHING: AbstractContextManager[None] = nullcontext()


def start(write: Callable[[Work], None]) -> None:
    """Start recording. `write` gets each piece of work at its end, in its thread and its log context."""
    global _write
    _write = write


def stop() -> None:
    global _write
    _write = None


def current() -> Work | None:
    """Return this thread's piece of work; None without one, or if recording is off."""
    return _current.get()


@contextmanager
def traced(
    name: str,
    kind: Kind = "internal",
    *,
    about: Callable[[], Sequence[Ids]] | None = None,
    joins: bool = True,
) -> Iterator[None]:
    """Record the block as one piece of work. `about` is called only if recording is on."""
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
    """Add details to the current piece of work, if there is one."""
    work = _current.get()
    if work is not None:
        work.details.update(details)
        work.name = name or work.name
        work.error = error or work.error


def leave_out() -> None:
    """Don't write the current piece of work."""
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
        # A failed trace must not fail the work.
        logger.warning("a trace could not be written", exc_info=True)
