"""Limits on the request threads that wait for external parties: in total, and per party."""

import re
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse

from config.api.limits import waiting
from config.api.limits.waiting import MAX_FOR_ONE_PARTY, MAX_WAITING, AnsweringMiddleware, Busy, waiting_for
from tests.processes import REPOSITORY, eventually

PATIENCE = 30.0


class Callers:
    """Request threads. Each waits for a party until it is released."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self._pool = pool
        self.let_go = threading.Event()

    def call(self, party: str, **limits: Any) -> "Future[HttpResponse]":
        """Have a thread wait for the party; return its result, which is Busy if the limit is reached."""
        began = threading.Event()

        def answer(_: HttpRequest) -> HttpResponse:
            try:
                with waiting_for(party, **limits):
                    began.set()
                    assert self.let_go.wait(PATIENCE)
            finally:
                began.set()
            return HttpResponse()

        answered = self._pool.submit(lambda: AnsweringMiddleware(answer)(HttpRequest()))
        if not limits.get("queues", True):
            assert began.wait(PATIENCE)
        return answered

    def is_refused(self, party: str, **limits: Any) -> bool:
        return isinstance(self.call(party, **{"queues": False, **limits}).exception(PATIENCE), Busy)


@pytest.fixture
def callers(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callers]:
    monkeypatch.setattr(waiting, "_threads", waiting._Threads())
    with ThreadPoolExecutor(32) as pool:
        callers = Callers(pool)
        try:
            yield callers
        finally:
            callers.let_go.set()


def test_threads_are_left_for_calls_that_need_no_one_outside() -> None:
    # Read the file as text, because importing it would change this process' environment.
    (threads,) = re.findall(
        r"^threads = (\d+)$", (REPOSITORY / "config" / "gunicorn.py").read_text(), re.MULTILINE
    )
    assert MAX_FOR_ONE_PARTY < MAX_WAITING <= int(threads) - 4


def test_one_party_takes_no_more_than_its_part(callers: Callers) -> None:
    for _ in range(MAX_FOR_ONE_PARTY):
        callers.call("a node that hangs", queues=False)
    for _ in range(20):
        assert callers.is_refused("a node that hangs")
    for _ in range(MAX_WAITING - MAX_FOR_ONE_PARTY):
        assert not callers.call("another node", queues=False).done()
    assert callers.is_refused("one more node")


def test_who_ended_makes_room(callers: Callers) -> None:
    first = callers.call("receivers", at_once=1, queues=False)
    assert callers.is_refused("receivers", at_once=1)
    callers.let_go.set()
    first.result(PATIENCE)
    callers.let_go.clear()
    assert not callers.call("receivers", at_once=1, queues=False).done()


def test_burst_at_a_healthy_party_waits_its_turn(callers: Callers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "_PATIENCE_SECONDS", PATIENCE)
    burst = [callers.call("a node", at_once=1) for _ in range(16)]
    callers.let_go.set()
    assert [answer.result(PATIENCE).status_code for answer in burst] == [200] * 16


def test_once_a_turn_did_not_come_no_one_queues_for_a_while(
    callers: Callers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "_PATIENCE_SECONDS", 0.01)
    hanging = callers.call("a node", at_once=1, queues=False)
    assert callers.is_refused("a node", at_once=1, queues=True)
    monkeypatch.setattr(waiting, "_PATIENCE_SECONDS", 10 * PATIENCE)
    for _ in range(3):
        assert callers.is_refused("a node", at_once=1, queues=True), "and at once"
    for number in range(MAX_WAITING - 1):  # rejected threads don't count
        assert not callers.call(f"node {number}", queues=False).done()
    assert not hanging.done()


def test_after_the_pause_one_thread_tries_and_others_fail_fast(
    callers: Callers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "_PATIENCE_SECONDS", 0.01)
    monkeypatch.setattr(waiting, "_PAUSE_SECONDS", 0.0)
    hanging = callers.call("a node", at_once=1, queues=False)
    assert callers.is_refused("a node", at_once=1, queues=True)
    monkeypatch.setattr(waiting, "_PATIENCE_SECONDS", PATIENCE)
    monkeypatch.setattr(waiting, "_PAUSE_SECONDS", 10 * PATIENCE)
    trying = [callers.call("a node", at_once=1) for _ in range(8)]
    eventually(lambda: sum(each.done() for each in trying) == 7, "all but one were refused")
    callers.let_go.set()
    assert hanging.result(PATIENCE).status_code == 200
    assert sorted(isinstance(each.exception(PATIENCE), Busy) for each in trying) == [False] + [True] * 7


def test_a_wait_within_a_wait_counts_once(callers: Callers) -> None:
    def answer(_: HttpRequest) -> HttpResponse:
        with (
            waiting_for("balances", at_once=1, queues=False),
            waiting_for("balances", at_once=1, queues=False),
        ):
            return HttpResponse()

    for _ in range(2):
        assert AnsweringMiddleware(answer)(HttpRequest()).status_code == 200


def test_threads_outside_requests_are_not_counted(callers: Callers) -> None:
    with ExitStack() as waits:
        for _ in range(2 * MAX_WAITING):
            waits.enter_context(waiting_for("a node", at_once=1, queues=False))
        callers.call("a node", at_once=1, queues=False)
        assert callers.is_refused("a node", at_once=1)
