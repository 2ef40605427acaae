"""Run jobs at the same moment, in threads with their own database connections."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from django.db import connection, transaction

from config.api.errors import ApiError


def at_once(jobs: Sequence[Callable[[], Any]]) -> list[Any]:
    """Run each job in its own thread, all started at once; return their results.

    An ApiError is returned as a result.
    """
    start = threading.Barrier(len(jobs))

    def run(job: Callable[[], Any]) -> Any:
        start.wait(timeout=60)
        try:
            return job()
        except ApiError as error:
            return error
        finally:
            connection.close()

    with ThreadPoolExecutor(max_workers=len(jobs)) as pool:
        return list(pool.map(run, jobs))


@contextmanager
def locked(take: Callable[[], object]) -> Iterator[threading.Event]:
    """Hold the locks that `take` takes, in another transaction, until the block ends or the event is set."""
    held, release = threading.Event(), threading.Event()

    def hold() -> None:
        with transaction.atomic():
            take()
            held.set()
            release.wait(60)
        connection.close()

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(30)
    try:
        yield release
    finally:
        release.set()
        thread.join()
