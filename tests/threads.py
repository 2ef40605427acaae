"""Doing many things at the same moment, each thread with a database connection of its own."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from django.db import connection

from config.api.errors import ApiError


def at_once(jobs: Sequence[Callable[[], Any]]) -> list[Any]:
    """Run each job in a thread of its own, all started by one signal; an ApiError stands for itself."""
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
