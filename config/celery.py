"""The Celery application. Tasks only trigger work; PostgreSQL holds what is due (see docs/decisions)."""

import gc
import os

from celery import Celery
from celery.signals import task_postrun, worker_init, worker_process_init

from config.environment import load_or_exit

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

app = Celery("quittance")


@app.on_configure.connect  # type: ignore[untyped-decorator]
def _check_settings(**_: object) -> None:
    """Exit if the settings are invalid, before Celery reads them and shows a traceback."""
    load_or_exit()


app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@worker_init.connect  # type: ignore[untyped-decorator]
def _share_memory(**_: object) -> None:
    """Keep what was loaded out of the garbage collector, which would copy it into each process that is forked."""
    app.loader.import_default_modules()
    gc.collect()
    gc.freeze()


@worker_process_init.connect  # type: ignore[untyped-decorator]
def _keep_copies(**_: object) -> None:
    """Keep copies of chains, tokens and merchants, in each process."""
    from config.database import process_cache

    process_cache.start()


@worker_process_init.connect  # type: ignore[untyped-decorator]
def _without_pool(**_: object) -> None:
    """Let a worker process open its database connections one at a time.

    Celery closes the process's whole pool before and after each task, under the threads that deliver webhooks.
    """
    from django.db import connections

    connections.settings["default"]["OPTIONS"].pop("pool", None)


@task_postrun.connect  # type: ignore[untyped-decorator]
def _beat_heart(**_: object) -> None:
    """Record that this worker finished a task, for `/readyz`."""
    from config.health import beat_heart

    beat_heart()
