"""The pool notices a connection closed by the server without a round trip."""

import psycopg
import pytest
from django.db import connection
from psycopg_pool.base import AttemptWithBackoff

from config.database.postgresql.base import check_socket
from tests.processes import eventually

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def opened() -> "psycopg.Connection[object]":
    return psycopg.connect(**{**connection.get_connection_params(), "autocommit": True})


def is_found_out(opened: "psycopg.Connection[object]") -> bool:
    try:
        check_socket(opened)
    except psycopg.OperationalError:
        return True
    return False


def test_a_living_connection_is_used_as_it_is(opened: "psycopg.Connection[object]") -> None:
    with opened:
        opened.execute("SELECT 1")
        check_socket(opened)
        assert opened.execute("SELECT 2").fetchone() == (2,)


def test_a_connection_that_the_server_ended_is_closed(opened: "psycopg.Connection[object]") -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s)", [opened.info.backend_pid])
    eventually(lambda: is_found_out(opened), "the socket shows it")
    assert opened.closed


def test_the_service_uses_it() -> None:
    assert connection.settings_dict["ENGINE"] == "config.database.postgresql"
    assert connection.pool is None or connection.pool._check is check_socket


def test_pool_connects_within_seconds_of_a_long_outage() -> None:
    attempts, now, pauses = AttemptWithBackoff(timeout=connection.pool.reconnect_timeout), 0.0, [0.0]
    while not attempts.time_to_give_up(now):
        attempts.update_delay(now)
        pauses.append(attempts.delay)
        now += attempts.delay
    assert 0 < max(pauses) < 6
