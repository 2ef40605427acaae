"""Real workers whose database connections are cut in the middle of their work."""

import time
from collections.abc import Callable

import pytest
from django.db import connection

from config.due_work.leases import DURATION
from tests.integration.payments.workers.conftest import (
    TAKEN_OVER_WITHIN,
    Stopped,
    assert_credited_once,
    is_completed,
)
from tests.processes import eventually

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def own_connections() -> list[int]:
    """The connections that existed before the workers. Later tests in this process need them."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pid FROM pg_stat_activity WHERE datname = current_database()")
        return [pid for (pid,) in cursor.fetchall()]


def cut_connections(spared: list[int]) -> int:
    """End every connection to this database except `spared`, as a restart does; return their number."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> ALL(%s) AND pid <> pg_backend_pid()",
            [spared],
        )
        return int(cursor.fetchone()[0])


@pytest.fixture
def cut(own_connections: list[int], looking: Stopped) -> Callable[[], int]:
    """Return a function that cuts the connections of the workers and their heartbeats during a lookup."""
    return lambda: cut_connections(own_connections)


def test_lookup_continues_after_every_connection_is_cut(looking: Stopped, cut: Callable[[], int]) -> None:
    until = time.monotonic() + DURATION.total_seconds()

    def are_cut_for_long_enough() -> bool:
        looking.released.wait(0.2)  # not set yet, so this waits for the workers to reconnect
        return cut() > 0 and time.monotonic() > until

    eventually(are_cut_for_long_enough, "a lease's time has passed")
    looking.released.set()
    eventually(lambda: is_completed(looking.payment), "it was completed", TAKEN_OVER_WITHIN)
    assert_credited_once(looking.payment)
