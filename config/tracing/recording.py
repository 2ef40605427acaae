"""What is traced: pieces of work, such as a call, a check or an attempt, with the statements that each executes.

    with log_context(payment_id=payment.pk), traced("follow swap"):
        ...

Nothing is recorded until `start`, which `config.observe.spans` calls in a process that sends traces. This module
imports no OpenTelemetry: code that is traced costs nothing where traces are off.
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

# A piece of work with more statements than that is a batch, in which each is like the next.
MAX_STATEMENTS = 100

Kind = Literal["server", "client", "internal"]
Ids = Mapping[str, str]


@dataclass(frozen=True)
class Statement:
    """A statement that PostgreSQL executed, without its parameters. Times are in Unix nanoseconds."""

    sql: Any
    began: int
    ended: int
    error: str


@dataclass
class Work:
    """A piece of work. Times are in Unix nanoseconds.

    `subjects` are the ids of what it is about, where it is about several things; else its log context says that.
    `joins` says that it belongs to the trace of its payment request; `trace_id` is what it has otherwise.
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
        """Return the time, by a clock that isn't set while the work lasts."""
        return self.began + time.perf_counter_ns() - self._tick


_write: Callable[[Work], None] | None = None
_current: ContextVar[Work | None] = ContextVar("work", default=None)
_NOTHING: AbstractContextManager[None] = nullcontext()


def start(write: Callable[[Work], None]) -> None:
    """Record from now on. `write` gets each piece of work when it ends, in its thread and its log context."""
    global _write
    _write = write


def stop() -> None:
    """Record nothing more."""
    global _write
    _write = None


def current() -> Work | None:
    """Return the piece of work that this thread does; None without one, or where nothing is recorded."""
    return _current.get()


@contextmanager
def traced(
    name: str,
    kind: Kind = "internal",
    *,
    about: Callable[[], Sequence[Ids]] | None = None,
    joins: bool = True,
) -> Iterator[None]:
    """Record what is done inside as one piece of work. `about` is called only where something is recorded."""
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
    """Add to the current piece of work what is known only now; without one, nothing happens."""
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
    """Return a context in which the statement is executed. Its parameters are never recorded."""
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
        # What is traced must not fail because of that.
        logger.warning("a trace could not be written", exc_info=True)
