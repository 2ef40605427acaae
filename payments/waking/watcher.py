"""Watch the heads of chains with open payments. Only one process of the deployment does so at a time."""

import logging
import threading
import time
from functools import partial

import psycopg
from django.db import connections

from chains.families import get_client
from chains.heads.follower import Client, HeadFollower
from chains.lookup import find_chain
from config.due_work.listening import connect, require_primary
from payments.verification.leasing import chains_with_open_payments
from payments.waking.on_new_heads import make_due

logger = logging.getLogger(__name__)

_LOCK = 0x68656164  # the number of this advisory lock
_WAIT_SECONDS = 1.0
_LOOK_SECONDS = 0.5
# Watch a chain a little longer than its last open payment, because the next one often comes soon.
_LINGER_SECONDS = 10.0


class HeadWatcher:
    """Watches the heads of chains while this process holds the deployment's lock. Other processes wait for the
    lock.

    The lock belongs to a database connection. So it is free as soon as the process or the connection ends.
    """

    def __init__(self, *, client: Client = get_client) -> None:
        self._client = client
        self._stopping = threading.Event()
        self._woken = threading.Event()
        self._followers: dict[int, HeadFollower] = {}
        self._wanted_until: dict[int, float] = {}
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start watching, or waiting for the lock. Call this after the fork, in the process that watches."""
        self._thread = threading.Thread(target=self._run, name="head-watcher", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Check for chains with open payments now."""
        self._woken.set()

    def stop(self) -> None:
        self._stopping.set()
        self._woken.set()
        if self._thread is not None:
            self._thread.join()

    @property
    def followed(self) -> list[int]:
        return sorted(self._followers)

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                with connect() as lock:
                    while not self._stopping.is_set() and not _is_ours(lock):
                        # Without this check, a primary that became a standby would be queried for ever.
                        require_primary(lock)
                        self._stopping.wait(_WAIT_SECONDS)
                    self._watch(lock)
            except Exception:
                logger.warning("heads are not watched; the next try is in a second", exc_info=True)
            finally:
                self._follow([])
                connections.close_all()
            self._stopping.wait(_WAIT_SECONDS)

    def _watch(self, lock: "psycopg.Connection[tuple[object, ...]]") -> None:
        while not self._stopping.is_set():
            require_primary(lock)  # raises if another process may have the lock
            now = time.monotonic()
            for chain_id in chains_with_open_payments():
                self._wanted_until[chain_id] = now + _LINGER_SECONDS
            self._wanted_until = {each: until for each, until in self._wanted_until.items() if until > now}
            self._follow(list(self._wanted_until))
            self._woken.wait(_LOOK_SECONDS)
            self._woken.clear()

    def _follow(self, chain_ids: list[int]) -> None:
        for chain_id in set(self._followers) - set(chain_ids):
            self._followers.pop(chain_id).stop()
        for chain_id in set(chain_ids) - set(self._followers):
            chain = find_chain(chain_id, active_only=False)
            if chain is not None:
                follower = HeadFollower(chain, partial(_make_due, chain_id), client=self._client)
                self._followers[chain_id] = follower
                follower.start()


def _is_ours(lock: "psycopg.Connection[tuple[object, ...]]") -> bool:
    row = lock.execute("SELECT pg_try_advisory_lock(%s)", [_LOCK]).fetchone()
    return bool(row and row[0])


def _make_due(chain_id: int, _head: int) -> None:
    try:
        make_due(chain_id)
    except Exception:
        connections.close_all()  # don't reuse a lost connection in this thread
        raise
