"""The web process: gunicorn's settings, with one folder in which all its workers count requests for `/metrics`."""

import os
import resource
import shutil
import tempfile
from typing import Any

from config.environment import load_or_exit

# Here, before any worker starts: gunicorn would start a worker that exits by itself again and again.
_env = load_or_exit()

wsgi_app = "config.wsgi:application"
bind = f"0.0.0.0:{_env.PORT}"
worker_class = "config.server.worker.WholeRequestWorker"
workers = _env.WEB_CONCURRENCY
threads = 16
graceful_timeout = 25
# Connections, most of which wait: for their next request, or for the rest of a slow one.
worker_connections = 1000
# Files go out in pieces, each of which the client has to take in time.
sendfile = False

_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
_SPARE_FILES = 512


def on_starting(server: Any) -> None:  # noqa: ARG001 - gunicorn's interface
    """Make the folder before any worker imports the metrics, which look for it then; allow for the connections."""
    os.environ[_FOLDER] = tempfile.mkdtemp(prefix="quittance-metrics-")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = worker_connections + _SPARE_FILES
    if soft != resource.RLIM_INFINITY and soft < needed:
        most = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def child_exit(server: Any, worker: Any) -> None:  # noqa: ARG001 - gunicorn's interface
    """Let the gauges of a worker that ended go; its counts stay."""
    from prometheus_client.multiprocess import mark_process_dead

    mark_process_dead(worker.pid)  # type: ignore[no-untyped-call]


def on_exit(server: Any) -> None:  # noqa: ARG001 - gunicorn's interface
    """Leave nothing behind."""
    shutil.rmtree(os.environ.get(_FOLDER, ""), ignore_errors=True)
