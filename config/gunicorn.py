"""gunicorn's settings for the web process.

All workers write their counts to one folder, from which `/metrics` reads them.
"""

import gc
import os
import resource
import shutil
import tempfile
from typing import Any

from config.environment import load_or_exit

# Check the settings before a worker starts. Otherwise gunicorn would restart failing workers endlessly.
_env = load_or_exit()

wsgi_app = "config.wsgi:application"
bind = f"0.0.0.0:{_env.PORT}"
worker_class = "config.server.worker.WholeRequestWorker"
workers = _env.WEB_CONCURRENCY
threads = 16
graceful_timeout = 25
# The number can be high, because most connections are idle or wait for the rest of a slow request.
worker_connections = 1000
# The control socket is unused. gunicorn would create it in the home directory, which is read-only in deployments.
control_socket_disable = True
# With this setting, gunicorn drops all headers with underscores. Otherwise it would accept SCRIPT_NAME and PATH_INFO
# from a proxy on this machine, and most proxies pass on a client's headers. The client could then choose the path that
# the middleware sees, and avoid the rate limits.
forwarder_headers = ""
# Without sendfile, files are sent in chunks, and each chunk has a time limit.
sendfile = False

# Load the application once and then fork, so that the workers share its memory.
preload_app = True

_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
_SPARE_FILES = 512

# Set the folder before the application imports the metrics.
os.environ[_FOLDER] = tempfile.mkdtemp(prefix="quittance-metrics-")


def on_starting(server: Any) -> None:  # noqa: ARG001 - gunicorn's interface
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = worker_connections + _SPARE_FILES
    if soft != resource.RLIM_INFINITY and soft < needed:
        limit = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))


def when_ready(server: Any) -> None:  # noqa: ARG001 - gunicorn's interface
    """Let workers share the memory of loaded objects. Garbage collection would write to that memory and so copy it."""
    gc.collect()
    gc.freeze()


def post_worker_init(worker: Any) -> None:  # noqa: ARG001 - gunicorn's interface
    from config.database import process_cache

    process_cache.start()
    if _env.OTEL_EXPORTER_OTLP_ENDPOINT:
        from config.observe import spans

        spans.start("web")


def worker_exit(server: Any, worker: Any) -> None:  # noqa: ARG001 - gunicorn's interface
    if _env.OTEL_EXPORTER_OTLP_ENDPOINT:
        from config.observe import spans

        spans.stop()


def child_exit(server: Any, worker: Any) -> None:  # noqa: ARG001 - gunicorn's interface
    """Remove the gauges of a worker that exited. Its counters stay."""
    from prometheus_client.multiprocess import mark_process_dead

    mark_process_dead(worker.pid)  # type: ignore[no-untyped-call]


def on_exit(server: Any) -> None:  # noqa: ARG001 - gunicorn's interface
    shutil.rmtree(os.environ.get(_FOLDER, ""), ignore_errors=True)
