"""`DATABASE_URL` with several hosts: the service connects to the one that accepts writes."""

from collections.abc import Iterator
from contextlib import ExitStack

import psycopg
import pytest

from demo.services import postgres
from tests.support.operations.programs import output_of
from tests.support.operations.read_only import read_only

ADDRESSES = ("127.0.92.1", "127.0.92.2")  # local addresses on which PostgreSQL's port is free
WHERE = """
import django; django.setup()
from django.db import connection
from config.due_work.listening import connect
cursor = connection.cursor()
cursor.execute("CREATE TABLE written ()")
print(connection.connection.info.host, connect().info.host)
"""


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Start two servers; return the socket URL of each by its address."""
    with ExitStack() as running:
        urls = {}
        for address in ADDRESSES:
            folder = tmp_path_factory.mktemp("pg")
            server = postgres.start(folder, durable=False, settings={"listen_addresses": address})
            running.callback(server.stop)
            urls[address] = server.url
        yield urls


@pytest.mark.parametrize("standby", ADDRESSES)
@pytest.mark.parametrize("ports", [":5432", ""])
def test_writes_and_notifications_use_the_primary(servers: dict[str, str], standby: str, ports: str) -> None:
    (primary,) = set(ADDRESSES) - {standby}
    hosts = ",".join(address + ports for address in ADDRESSES)
    url = f"postgresql://postgres@{hosts}/quittance?target_session_attrs=read-write"
    with read_only(conninfo=servers[standby]):
        shown = output_of(WHERE, DATABASE_URL=url)
    assert shown.split() == [primary, primary]
    with psycopg.connect(servers[primary], autocommit=True) as direct:
        direct.execute("DROP TABLE written")
