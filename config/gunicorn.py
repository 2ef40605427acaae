"""The web process: gunicorn's settings, with one folder in which all its workers count requests for `/metrics`."""

import os
import shutil
import tempfile
from typing import Any

wsgi_app = "config.wsgi:application"
bind = f"0.0.0.0:{os.environ.get('PORT', '8000')}"
worker_class = "gthread"
workers = int(os.environ.get("WEB_CONCURRENCY", "2"))
threads = 16
graceful_timeout = 25

_FOLDER = "PROMETHEUS_MULTIPROC_DIR"


def on_starting(server: Any) -> None:  # noqa: ARG001 - gunicorn's interface
    """Make the folder before any worker imports the metrics, which look for it then."""
    os.environ[_FOLDER] = tempfile.mkdtemp(prefix="quittance-metrics-")


def child_exit(server: Any, worker: Any) -> None:  # noqa: ARG001 - gunicorn's interface
    """Let the gauges of a worker that ended go; its counts stay."""
    from prometheus_client.multiprocess import mark_process_dead

    mark_process_dead(worker.pid)  # type: ignore[no-untyped-call]


def on_exit(server: Any) -> None:  # noqa: ARG001 - gunicorn's interface
    """Leave nothing behind."""
    shutil.rmtree(os.environ.get(_FOLDER, ""), ignore_errors=True)
