"""The Celery application.

Tasks only trigger work. The due work itself is in PostgreSQL (see docs/decisions).
"""

import gc
import os
import warnings

from celery import Celery, current_app
from celery.signals import (
    setup_logging,
    task_postrun,
    worker_init,
    worker_process_init,
    worker_process_shutdown,
    worker_ready,
    worker_shutdown,
)

from config.environment import load_or_exit

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

app = Celery("quittance", loader="config.observe.loader:Loader")


@app.on_configure.connect  # type: ignore[untyped-decorator]
def _check_settings(**_: object) -> None:
    """Exit if the settings are invalid. Celery would print a traceback."""
    load_or_exit()


# Celery warns if CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS is off. settings.py says why it is off.
warnings.filterwarnings("ignore", message=r"\s*In Celery 5\.1 we introduced an optional breaking change")

app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@setup_logging.connect  # type: ignore[untyped-decorator]
def _keep_logging(**_: object) -> None:
    """Keep Django's logging configuration. Without this function, Celery would replace it.

    The beat process also imports this module, but runs without Django. So the function checks which application runs.
    """
    if current_app._get_current_object() is app:
        import django

        django.setup()


@worker_init.connect  # type: ignore[untyped-decorator]
def _watch_tasks(**_: object) -> None:
    import config.observe.tasks  # noqa: F401 - connects its signals


@worker_ready.connect  # type: ignore[untyped-decorator]
def _serve_counts(**_: object) -> None:
    env = load_or_exit()
    if env.WORKER_METRICS_PORT:
        from config.observe import worker_metrics

        worker_metrics.serve(env.WORKER_METRICS_PORT, env.METRICS_TOKEN)


@worker_shutdown.connect  # type: ignore[untyped-decorator]
def _forget_counts(**_: object) -> None:
    from config.observe import loader

    loader.forget_counts()


@worker_init.connect  # type: ignore[untyped-decorator]
def _share_memory(**_: object) -> None:
    """Let forked processes share the memory of loaded objects.

    Garbage collection would write to that memory and so copy it.
    """
    app.loader.import_default_modules()
    gc.collect()
    gc.freeze()


@worker_process_init.connect  # type: ignore[untyped-decorator]
def _keep_copies(**_: object) -> None:
    from config.database import process_cache

    process_cache.start()


@worker_process_init.connect  # type: ignore[untyped-decorator]
def _send_traces(**_: object) -> None:
    if load_or_exit().OTEL_EXPORTER_OTLP_ENDPOINT:
        from config.observe import spans

        spans.start("worker")
        # Connect this handler last. The apps' handlers then finish their work first, and the traces of that work are
        # sent too.
        worker_process_shutdown.connect(_send_last_spans)


def _send_last_spans(**_: object) -> None:
    from config.observe import spans

    spans.stop()


@worker_process_init.connect  # type: ignore[untyped-decorator]
def _without_pool(**_: object) -> None:
    """Use no connection pool in a worker process.

    Celery closes the whole pool before and after each task. Other threads may be using it to deliver webhooks.
    """
    from django.db import connections

    connections.settings["default"]["OPTIONS"].pop("pool", None)


@task_postrun.connect  # type: ignore[untyped-decorator]
def _beat_heart(**_: object) -> None:
    from config.health import beat_heart

    beat_heart()
