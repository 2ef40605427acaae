"""Threads that take turns: one runs at a time, up to its next stop. The simulation decides the order."""

import random
import re
import threading
import zlib
from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum
from typing import Any

import psycopg
from django.db import DEFAULT_DB_ALIAS, OperationalError, connection, connections

Job = Callable[[], object]

_SPACE = re.compile(r"\s+")
# Django puts the thread's id into a savepoint's name.
_SAVEPOINT = re.compile(r"\"s\d+_x(\d+)\"")
_PATIENCE_SECONDS = 0.005
_LONGEST_PATIENCE_SECONDS = 0.08
# Reading statements matter less than writing or locking ones. So the process stops only before some of them.
_ONLY_READS = re.compile(r"\s*SELECT\b(?!.*(\bFOR\b|\bpg_))", re.DOTALL)
_PASSED_SHARE = 0.7


class Fault(StrEnum):
    """A process' fault at a stop."""

    KILLED = "killed"
    CUT_BEFORE = "connection lost before"
    CUT_AFTER = "connection lost after"


class Killed(BaseException):
    """The process was killed: unwind its stack without running any more of its code."""


class Actor:
    """A process of the service, in a thread with its own connection.

    `at` is the name of the stop at which it waits. `leases` are the leases that its heartbeat renews.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.at = ""
        self.result = ""
        self.pid = 0
        self.is_idle = True
        self.is_calling = False
        self.is_blocked = False
        self.is_dead = False
        self.leases: list[Any] = []
        self.problem: BaseException | None = None
        self._chance = random.Random(0)
        self._job: Job | None = None
        self._fault: Fault | None = None
        self._is_impatient = False
        self._begins_history = False
        self._go = threading.Semaphore(0)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def begin_history(self, chance: random.Random) -> None:
        """Reset the actor's state before a new history."""
        # Its own random numbers: after one thread released a lock for another, two threads run at once for a
        # moment.
        self._chance = random.Random(f"{chance.random()} {self.name}")
        self.result, self.problem = "", None
        self.leases.clear()
        self._begins_history = True

    def begin(self, name: str, job: Job) -> None:
        """Give the idle actor a job, which `go` starts."""
        self._job, self.at, self.is_idle, self.problem = job, name, False, None

    def go(self, fault: Fault | None, is_blocked: Callable[[int], bool]) -> None:
        """Run the actor to its next stop, or until it waits for a lock."""
        self._fault = fault
        self._stopped.clear()
        self._go.release()
        self.settle(is_blocked)

    def settle(self, is_blocked: Callable[[int], bool]) -> None:
        """Wait until the actor stops, or waits for a lock of another actor."""
        patience = _PATIENCE_SECONDS
        while not self._stopped.wait(patience):
            if not self._is_impatient and is_blocked(self.pid):
                self.is_blocked = True
                return
            # Query less and less often, to spare a busy machine.
            patience = min(2 * patience, _LONGEST_PATIENCE_SECONDS)
        self.is_blocked = False

    def stop(self, at: str) -> Fault | None:
        """Wait for the next turn; return its fault. Call this in the actor's thread."""
        if self.is_dead:
            raise Killed
        self.at = at
        self._stopped.set()
        self._go.acquire()
        fault, self._fault, self.result = self._fault, None, ""
        if fault is Fault.KILLED:
            self.is_dead = True
            _cut()
            raise Killed
        return fault

    # --- in the actor's thread -----------------------------------------------------------------------------------

    def _run(self) -> None:
        _current.actor = self
        self._take_connection()
        while True:
            self._go.acquire()
            if self._begins_history:
                self._begins_history = False
                _forget_lost_connection()
            try:
                if self._job is not None:
                    self._job()
            except Killed:
                pass
            except Exception as problem:
                self.problem = problem
            if self.is_dead:
                # A new process has no state of the interrupted transaction in Django.
                del connections[DEFAULT_DB_ALIAS]
                self._take_connection()
                self.is_dead = False
                self.problem = None
                self.leases.clear()
            elif self.problem is not None:
                connection.close()  # as `Runner` does
            self.leases = [each for each in self.leases if not each.is_over]
            self.is_idle, self.at = True, ""
            self._stopped.set()

    def _take_connection(self) -> None:
        own: Any = connections[DEFAULT_DB_ALIAS]
        options = {**own.settings_dict["OPTIONS"], "application_name": self.name}
        own.settings_dict = {**own.settings_dict, "OPTIONS": options}
        own.execute_wrappers.append(self._execute)
        commit = own._commit
        own._commit = lambda: self._commit(commit)

    def _execute(self, execute: Any, sql: Any, params: Any, many: bool, context: Any) -> Any:
        sql = sql if isinstance(sql, str) else sql.as_string()
        if not self.is_dead and _ONLY_READS.match(sql) and self._chance.random() < _PASSED_SHARE:
            return execute(sql, params, many, context)
        waits_for = "lock_timeout = " in sql
        if waits_for:  # a real wait, which a simulation skips
            sql = re.sub(r"lock_timeout = \d+", "lock_timeout = 1", sql)
        text = _SAVEPOINT.sub(r"\1", _SPACE.sub(" ", sql))
        label = f"{text[:70]} {zlib.crc32(text.encode()):08x}"
        try:
            done = self._perform(label, lambda: execute(sql, params, many, context))
        except BaseException:
            self._is_impatient = False
            raise
        self._is_impatient |= waits_for
        self.result = f"{context['cursor'].rowcount}"
        return done

    def _perform(self, label: str, action: Callable[[], Any]) -> Any:
        fault = self.stop(label)
        if fault is Fault.CUT_BEFORE:
            _cut()
        raw = connection.connection
        self.pid = raw.info.backend_pid if raw is not None and not raw.closed else 0
        done = action()
        if self.is_blocked:
            self.stop(f"has its lock: {label}")
        if fault is Fault.CUT_AFTER:
            _cut()
            raise OperationalError("the connection was lost")
        return done

    def _commit(self, commit: Job) -> None:
        try:
            self._perform("COMMIT", commit)
        finally:
            self._is_impatient = False


_current = threading.local()


def current() -> Actor | None:
    """Return this thread's actor, or None in the simulation's own thread."""
    return getattr(_current, "actor", None)


def stop_at(name: str) -> None:
    """Stop the current actor before a call to the outside."""
    actor = current()
    if actor is not None:
        actor.is_calling = True
        try:
            actor.stop(name)
        finally:
            actor.is_calling = False


def _forget_lost_connection() -> None:
    """Close the connection if it was lost at the end of the previous history and the product ignored the loss."""
    raw = connection.connection
    if raw is not None and raw.closed:
        connection.close()


def _cut() -> None:
    """Close the connection as if the process or network died. Wait until PostgreSQL has rolled back."""
    raw = connection.connection
    if raw is None or raw.closed:
        return
    with suppress(psycopg.Error):
        raw.rollback()
    raw.close()
