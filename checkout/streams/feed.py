"""The data of the streams. All streams of a payment request share one copy of its details.

PostgreSQL notifies the process of each changed request by its ID. A notification can be lost. So every few seconds, a
query compares the versions of all requests that have streams.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import msgspec
from django.db import close_old_connections, connection

from checkout.api.checkout_object import checkout_object, details_etag, encoded_with_server_time
from checkout.lookup import find_request
from config.due_work.listening import Channel, Listener

logger = logging.getLogger(__name__)

Result = TypeVar("Result")

_THREADS = 4
_COMPARE_SECONDS = 5.0
_VERSIONS = """
    SELECT request.id::text, concat(request.xmin, ' ', (
        SELECT string_agg(concat(payment.id, payment.xmin, ' ', lookup.xmin, ' ', swap.xmin), ' ' ORDER BY payment.id)
        FROM payments_payment payment
        LEFT JOIN payments_lookup lookup ON lookup.of_payment_id = payment.id
        LEFT JOIN payments_swap swap ON swap.payment_id = payment.id
        WHERE payment.request_id = request.id))
    FROM payments_paymentrequest request WHERE request.id = ANY(%s::uuid[])
"""


@dataclass(frozen=True)
class Shown:
    """The details of a request and their ETag. If `is_final`, no further change is expected."""

    request_id: str
    etag: str
    details: bytes
    """JSON without the server's time: streams that open later share these details."""
    is_final: bool
    poll_in_ms: int

    def body(self) -> bytes:
        """Return the details with the present server's time, as JSON."""
        return encoded_with_server_time(self.details)


class Feed:
    """Wakes the streams of a request if its details may have changed. Use it in one event loop only."""

    def __init__(self) -> None:
        self._waiting: dict[str, set[asyncio.Event]] = defaultdict(set)
        self._shown: dict[str, asyncio.Task[Shown]] = {}
        self._versions: dict[str, str] = {}
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="streams")
        self._comparing: asyncio.Task[None] | None = None
        self._listener: Listener | None = None

    async def start(self) -> None:
        loop = asyncio.get_running_loop()

        def heard(request_id: str) -> None:
            loop.call_soon_threadsafe(self.changed, request_id)

        def may_have_missed() -> None:
            loop.call_soon_threadsafe(self._all_changed)

        self._listener = Listener({Channel.REQUESTS: heard}, on_gap=may_have_missed)
        self._listener.start()
        self._comparing = asyncio.create_task(self._compare())

    async def stop(self) -> None:
        if self._comparing is not None:
            self._comparing.cancel()
        if self._listener is not None:
            await asyncio.get_running_loop().run_in_executor(None, self._listener.stop)
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def find(self, id_or_shortcode: str) -> Shown:
        """Return a request's current details. Raises ObjectMissing, and Django's database errors."""
        return await self.in_thread(lambda: _read(id_or_shortcode))

    async def shown(self, request_id: str) -> Shown:
        """Return the details of a watched request. Concurrent streams share one query."""
        task = self._shown.get(request_id)
        if task is None:
            task = self._shown[request_id] = asyncio.create_task(self.find(request_id))
        try:
            return await asyncio.shield(task)
        except BaseException:
            if task.done() and self._shown.get(request_id) is task:
                del self._shown[request_id]
            raise

    def watch(self, request_id: str) -> asyncio.Event:
        """Return an event that is set each time the request may have changed."""
        changed = asyncio.Event()
        self._waiting[request_id].add(changed)
        return changed

    def leave(self, request_id: str, changed: asyncio.Event) -> None:
        self._waiting[request_id].discard(changed)
        if not self._waiting[request_id]:
            del self._waiting[request_id]
            self._shown.pop(request_id, None)
            self._versions.pop(request_id, None)

    def changed(self, request_id: str) -> None:
        self._shown.pop(request_id, None)
        for changed in self._waiting.get(request_id, ()):
            changed.set()

    def _all_changed(self) -> None:
        for request_id in list(self._waiting):
            self.changed(request_id)

    async def _compare(self) -> None:
        while True:
            await asyncio.sleep(_COMPARE_SECONDS)
            if not self._waiting:
                continue
            try:
                versions = await self.in_thread(partial(_versions, list(self._waiting)))
            except Exception:
                logger.warning("watched requests could not be compared", exc_info=True)
                continue
            for request_id, version in versions.items():
                if request_id in self._waiting and self._versions.get(request_id) != version:
                    self._versions[request_id] = version
                    self.changed(request_id)

    async def in_thread(self, read: Callable[[], Result]) -> Result:
        """Run `read` in a thread with a database connection."""

        def run() -> Result:
            close_old_connections()
            try:
                return read()
            finally:
                close_old_connections()

        return await asyncio.get_running_loop().run_in_executor(self._pool, run)


def _read(id_or_shortcode: str) -> Shown:
    request = find_request(id_or_shortcode)
    checkout = checkout_object(request)
    etag = details_etag(checkout)
    details = msgspec.json.encode(checkout)
    return Shown(str(request.pk), etag, details, checkout.is_final, checkout.poll_in_ms)


def _versions(request_ids: Iterable[str]) -> dict[str, str]:
    with connection.cursor() as cursor:
        cursor.execute(_VERSIONS, [list(request_ids)])
        return dict(cursor.fetchall())
