"""Add the ids of Celery tasks to log lines, and count the tasks and their durations."""

import time
from contextlib import ExitStack
from typing import Any

from celery.signals import task_postrun, task_prerun
from prometheus_client import Counter, Histogram

from config.api.log_context import log_context

TASKS = Counter("quittance_tasks", "Tasks that workers finished.", ("task", "state"))
TASK_SECONDS = Histogram("quittance_task_seconds", "Time to run a task.", ("task",))

_running: dict[str, tuple[ExitStack, float]] = {}


@task_prerun.connect
def _begin(task_id: str, task: Any, **_: object) -> None:
    stack = ExitStack()
    stack.enter_context(log_context(task_id=task_id, task=task.name))
    _running[task_id] = (stack, time.perf_counter())


@task_postrun.connect
def _end(task_id: str, task: Any, state: str | None = None, **_: object) -> None:
    stack, began = _running.pop(task_id, (ExitStack(), time.perf_counter()))
    stack.close()
    TASKS.labels(task.name, state or "UNKNOWN").inc()
    TASK_SECONDS.labels(task.name).observe(time.perf_counter() - began)
