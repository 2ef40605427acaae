"""Faults of services that stay up: PostgreSQL's primary becomes read-only, Redis rejects writes.

`FAULTS=failover make chaos` runs them. No process of the product may end, and no call may return 500.
"""

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import redis

from tests.integration.chaos.world import World
from tests.processes import eventually
from tests.support.operations.read_only import demoted, read_only

READ_ONLY = "PostgreSQL read-only"
DEMOTED = "PostgreSQL read-only on the connections that are open"
REPLICA, CANT_SAVE, FULL = "Redis became a replica", "Redis can't save", "Redis full"
EMPTY = "Redis restarted empty"
FAULTS = (READ_ONLY, DEMOTED, REPLICA, CANT_SAVE, FULL, EMPTY)
# After a demotion, later faults could make only the older connections read-only. So the demotion is last.
SCHEDULE = (
    (0.05, (REPLICA,)),
    (0.18, (CANT_SAVE,)),
    (0.31, (FULL,)),
    (0.44, (EMPTY,)),
    (0.50, (READ_ONLY,)),
    (0.62, (REPLICA,)),
    (0.75, (READ_ONLY,)),
    (0.90, (DEMOTED,)),
)
SHORT = (
    (0.1, (REPLICA,)),
    (0.3, (CANT_SAVE,)),
    (0.5, (READ_ONLY,)),
    (0.7, (EMPTY,)),
    (0.8, (DEMOTED,)),
)


def make(world: World, fault: str, seconds: float) -> float:
    """Make the fault and end it after `seconds`. Return the monotonic time from which the recovery is measured.

    Payments continue without Redis, but not without a writable database.
    """
    began_at = time.monotonic()
    if fault == EMPTY:
        world.kill("Redis")
        world.restart("Redis")
    elif fault == DEMOTED:
        world.demoted = _connections(world)
        world.until_it_stops(demoted(conninfo=world.database_url))
    elif fault == READ_ONLY:
        with read_only(conninfo=world.database_url):
            time.sleep(seconds)
        began_at = time.monotonic()
    else:
        with redis.Redis(port=world.redis_port) as client, _REJECTING[fault](client):
            time.sleep(seconds)
    return began_at


def are_left(world: World, seconds: float) -> bool:
    """Return whether the service closes all connections to the demoted primary.

    An idle thread closes its connection when it uses it next, or when the thread ends.
    """
    try:
        eventually(lambda: not world.demoted & _connections(world), "they are closed", seconds)
    except AssertionError:
        return False
    return True


def _connections(world: World) -> set[int]:
    """Return the backends that serve the product's processes. All other clients connect by the socket."""
    with psycopg.connect(world.database_url) as connection:
        rows = connection.execute("SELECT pid FROM pg_stat_activity WHERE client_addr IS NOT NULL").fetchall()
    return {int(pid) for (pid,) in rows}


@contextmanager
def _replica(client: "redis.Redis") -> Iterator[None]:
    client.execute_command("REPLICAOF", "127.0.0.1", "1")
    yield
    client.execute_command("REPLICAOF", "NO", "ONE")


@contextmanager
def _cant_save(client: "redis.Redis") -> Iterator[None]:
    """Remove the folder for Redis' dump file, so that its next save fails. After that, Redis rejects all writes."""
    folder = client.config_get("dir")["dir"]
    shutil.rmtree(folder)
    client.config_set("save", "3600 1")
    client.execute_command("BGSAVE")
    eventually(lambda: client.info("persistence")["rdb_last_bgsave_status"] == "err", "the save failed")
    yield
    client.config_set("save", "")


@contextmanager
def _full(client: "redis.Redis") -> Iterator[None]:
    client.config_set("maxmemory", "1")
    yield
    client.config_set("maxmemory", "0")


_REJECTING = {REPLICA: _replica, CANT_SAVE: _cant_save, FULL: _full}
