"""The web process: gunicorn's settings, with one folder in which all its workers count requests for `/metrics`."""

import gc
import os
import resource
import shutil
import tempfile
from typing import Any

from config.environment import load_or_exit

# Checked before any worker starts, because gunicorn would restart a failing worker endlessly.
_env = load_or_exit()

wsgi_app = "config.wsgi:application"
bind = f"0.0.0.0:{_env.PORT}"
worker_class = "config.server.worker.WholeRequestWorker"
workers = _env.WEB_CONCURRENCY
threads = 16
graceful_timeout = 25
# Connections; most are idle or wait for the rest of a slow request.
worker_connections = 1000
# It would be in the home directory, which can't be written to in deployments, and nothing uses it.
control_socket_disable = True
# By default a proxy on this machine may set SCRIPT_NAME and PATH_INFO, and most pass on a client's: it would choose the
# path that the middleware sees, and so the limits that apply. Headers with underscores are dropped.
forwarder_headers = ""
# Files are sent in chunks; the client must receive each one in time.
sendfile = False

# The application is loaded once and then forked, so that the workers share its memory.
preload_app = True

_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
_SPARE_FILES = 512

# Before the application imports the metrics.
os.environ[_FOLDER] = tempfile.mkdtemp(prefix="quittance-metrics-")


def on_starting(server: Any) -> None:  # noqa: ARG001 - gunicorn's interface
    """Raise the limit of open files."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = worker_connections + _SPARE_FILES
    if soft != resource.RLIM_INFINITY and soft < needed:
        most = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def when_ready(server: Any) -> None:  # noqa: ARG001 - gunicorn's interface
    """Keep what was loaded out of the garbage collector, which would copy it into each worker."""
    gc.collect()
    gc.freeze()


def post_worker_init(worker: Any) -> None:  # noqa: ARG001 - gunicorn's interface
    """Keep copies of what rarely changes, and send traces if there is a collector, in each worker."""
    from config.database import process_cache

    process_cache.start()
    if _env.OTEL_EXPORTER_OTLP_ENDPOINT:
        from config.observe import spans

        spans.start("web")


def worker_exit(server: Any, worker: Any) -> None:  # noqa: ARG001 - gunicorn's interface
    """Send the last spans of a worker that exits."""
    if _env.OTEL_EXPORTER_OTLP_ENDPOINT:
        from config.observe import spans

        spans.stop()


def child_exit(server: Any, worker: Any) -> None:  # noqa: ARG001 - gunicorn's interface
    """Remove the gauges of a worker that exited; its counters stay."""
    from prometheus_client.multiprocess import mark_process_dead

    mark_process_dead(worker.pid)  # type: ignore[no-untyped-call]


def on_exit(server: Any) -> None:  # noqa: ARG001 - gunicorn's interface
    """Remove the metrics folder."""
    shutil.rmtree(os.environ.get(_FOLDER, ""), ignore_errors=True)
