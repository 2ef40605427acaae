"""Follow a chain's head: report each new block once, despite failures, and nothing after the end."""

import threading
from queue import Queue
from typing import Any

import pytest
from django.db import connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from chains.client import ChainError
from chains.heads import follower
from chains.heads.follower import HeadFollower
from chains.models import Chain
from tests.processes import eventually


class Nodes:
    """A client whose head the test sets. None means that the node doesn't respond."""

    def __init__(self, latest: int | None) -> None:
        self.latest = latest
        self.asked = 0

    def look_up(self, _hashes: Any, *, with_finality: bool) -> Any:
        assert not with_finality
        self.asked += 1
        if self.latest is None:
            raise ChainError("no answer")
        return type("Snapshot", (), {"head": type("Head", (), {"latest": self.latest})()})()


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follower, "_FIRST_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(follower, "_SHORTEST_PAUSE_SECONDS", 0.001)


def following(nodes: Nodes, on_head: Any) -> HeadFollower:
    chain = Chain(id=1, name="Local", chain_type="evm", block_time_ms=20)
    made = HeadFollower(chain, on_head, client=lambda _: nodes)  # type: ignore[arg-type,return-value]
    made.start()
    return made


def test_each_new_head_is_told_once() -> None:
    nodes, heads = Nodes(5), Queue[int]()
    made = following(nodes, heads.put)
    assert heads.get(timeout=20) == 5
    asked = nodes.asked
    eventually(lambda: nodes.asked > asked + 3, "it asks on")
    nodes.latest = 6
    assert heads.get(timeout=20) == 6
    made.stop()
    assert heads.empty()


def test_a_node_that_does_not_answer_is_asked_again() -> None:
    nodes, heads = Nodes(None), Queue[int]()
    made = following(nodes, heads.put)
    eventually(lambda: nodes.asked > 2, "it asks again")
    nodes.latest = 7
    assert heads.get(timeout=20) == 7
    made.stop()


def test_a_failure_to_act_does_not_end_it(caplog: pytest.LogCaptureFixture) -> None:
    nodes, heads = Nodes(5), Queue[int]()

    def act(head: int) -> None:
        heads.put(head)
        raise RuntimeError("the database is away")

    made = following(nodes, act)
    assert heads.get(timeout=20) == 5
    nodes.latest = 6
    assert heads.get(timeout=20) == 6
    made.stop()
    assert "could not be acted on" in caplog.text


def test_it_ends_when_it_is_stopped() -> None:
    nodes, heads = Nodes(5), Queue[int]()
    made = following(nodes, heads.put)
    heads.get(timeout=20)
    made.stop()
    eventually(
        lambda: not any(thread.name == "heads-1" for thread in threading.enumerate()), "its thread ended"
    )


@pytest.mark.django_db(transaction=True)
def test_follower_that_ends_closes_its_database_connection() -> None:
    used: list[BaseDatabaseWrapper] = []

    def read(head: int) -> None:
        connection.ensure_connection()
        used.append(connections["default"])

    made = following(Nodes(5), read)
    eventually(lambda: bool(used), "it acts on a head")
    made.stop()
    eventually(lambda: used[0].connection is None, "it is closed")
