"""Notifications are sent after the commit and arrive within milliseconds. A silent listener counts for a second."""

from collections.abc import Iterator
from queue import Empty, Queue

import psycopg
import pytest
from django.db import connection, transaction
from pytest_django import Settings

from config.due_work import listening
from config.due_work.listening import Channel, Listener, notify
from merchants.models import Merchant
from tests.processes import eventually
from tests.support.operations.read_only import demoted

pytestmark = pytest.mark.django_db(transaction=True)


class Heard:
    """A listener on two channels, with its received notifications."""

    def __init__(self) -> None:
        self.payloads: Queue[tuple[Channel, str]] = Queue()
        self.gaps: Queue[None] = Queue()
        self.listener = Listener(
            {
                Channel.REQUESTS: lambda payload: self.payloads.put((Channel.REQUESTS, payload)),
                Channel.DELIVERIES: lambda payload: self.payloads.put((Channel.DELIVERIES, payload)),
            },
            on_gap=lambda: self.gaps.put(None),
        )
        self.listener.start()
        eventually(lambda: self.listener.is_current, "the listener is connected")

    def next(self) -> tuple[Channel, str]:
        return self.payloads.get(timeout=20)

    def nothing_more(self) -> bool:
        notify(Channel.REQUESTS, "last")
        return self.next() == (Channel.REQUESTS, "last")


@pytest.fixture
def heard() -> Iterator[Heard]:
    heard = Heard()
    yield heard
    heard.listener.stop()


def end_other_connections() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE pid <> pg_backend_pid() AND datname = current_database()"
            " AND query LIKE 'SHOW transaction_read_only%'"
        )


def test_it_is_sent_after_the_commit_and_once_per_transaction(heard: Heard) -> None:
    with transaction.atomic():
        notify(Channel.REQUESTS, "one")
        notify(Channel.REQUESTS, "one")
        notify(Channel.DELIVERIES)
        with pytest.raises(Empty):
            heard.payloads.get_nowait()
    assert [heard.next(), heard.next()] == [(Channel.REQUESTS, "one"), (Channel.DELIVERIES, "")]
    assert heard.nothing_more()


def test_rolled_back_transaction_sends_no_notification(heard: Heard) -> None:
    with transaction.atomic():
        notify(Channel.REQUESTS, "never")
        transaction.set_rollback(True)
    assert heard.nothing_more()


def test_notification_that_fails_after_the_commit_raises_nothing(
    merchant: Merchant, caplog: pytest.LogCaptureFixture
) -> None:
    with transaction.atomic():
        Merchant.objects.filter(pk=merchant.pk).update(name="Changed")
        # The first function that runs after the commit closes the connection.
        transaction.on_commit(lambda: connection.connection.close())
        notify(Channel.REQUESTS, "one")
    connection.close()
    merchant.refresh_from_db()
    assert merchant.name == "Changed"
    assert "a notification on quittance_requests could not be sent" in caplog.text


def test_a_lost_connection_is_a_gap_and_is_made_again(heard: Heard) -> None:
    heard.gaps.get(timeout=20)
    end_other_connections()
    heard.gaps.get(timeout=20)
    eventually(lambda: heard.listener.is_current, "it listens again")
    notify(Channel.REQUESTS, "after")
    assert heard.next() == (Channel.REQUESTS, "after")


def test_a_handler_that_fails_does_not_end_the_listener(caplog: pytest.LogCaptureFixture) -> None:
    payloads: Queue[str] = Queue()

    def handle(payload: str) -> None:
        payloads.put(payload)
        raise RuntimeError("a broken handler")

    listener = Listener({Channel.REQUESTS: handle})
    listener.start()
    try:
        eventually(lambda: listener.is_current, "the listener is connected")
        notify(Channel.REQUESTS, "first")
        notify(Channel.REQUESTS, "second")
        assert [payloads.get(timeout=20), payloads.get(timeout=20)] == ["first", "second"]
    finally:
        listener.stop()
    assert "could not be handled" in caplog.text


def test_a_listener_that_is_stopped_is_not_current(heard: Heard) -> None:
    heard.listener.stop()
    assert not heard.listener.is_current


def test_a_listener_without_proof_is_not_current(heard: Heard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "CURRENT_SECONDS", -1.0)
    eventually(lambda: not heard.listener.is_current, "its last proof is too old")


def test_it_listens_past_a_pooler(settings: Settings) -> None:
    options = connection.get_connection_params()
    names = ("host", "port", "user", "password", "dbname")
    known = psycopg.conninfo.make_conninfo(**{name: options[name] for name in names if options.get(name)})
    settings.DATABASE_LISTEN_URL = known
    listener = Listener({Channel.REQUESTS: lambda _: None})
    listener.start()
    try:
        eventually(lambda: listener.is_current, "it is connected")
    finally:
        listener.stop()


def test_read_only_server_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    connect, opened = listening.connect, list[psycopg.Connection[object]]()

    def demoted_at_first() -> psycopg.Connection[object]:
        opened.append(connect())
        if len(opened) == 1:
            opened[0].execute("SET default_transaction_read_only = on")
        return opened[-1]

    monkeypatch.setattr(listening, "connect", demoted_at_first)
    heard = Heard()
    try:
        assert (len(opened), opened[0].closed) == (2, True)
        notify(Channel.REQUESTS, "by the primary")
        assert heard.next() == (Channel.REQUESTS, "by the primary")
    finally:
        heard.listener.stop()


def test_listener_leaves_a_demoted_primary_and_closes_the_pool(heard: Heard) -> None:
    heard.gaps.get(timeout=20)
    connection.ensure_connection()
    connection.close()  # into the pool
    with demoted(**connection.get_connection_params()):
        heard.gaps.get(timeout=20)
        eventually(lambda: heard.listener.is_current, "it listens again")
        eventually(may_write, "the pool has connections to the new primary only", seconds=20)
    notify(Channel.REQUESTS, "after")
    assert heard.next() == (Channel.REQUESTS, "after")


def may_write() -> bool:
    """Return whether the pool's next connection accepts writes."""
    with connection.cursor() as cursor:
        cursor.execute("SHOW transaction_read_only")
        (is_read_only,) = cursor.fetchone()
    connection.close()
    return bool(is_read_only == "off")
