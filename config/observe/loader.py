"""Celery's loader: before a worker imports anything that counts, it decides where its processes count together."""

import os
import shutil
import tempfile

from celery.loaders.app import AppLoader

from config.environment import load_or_exit

FOLDER = "PROMETHEUS_MULTIPROC_DIR"


class Loader(AppLoader):  # type: ignore[misc]
    """Imports tasks as Celery's own loader does."""

    def init_worker(self) -> None:
        """Share a folder of counts among this process and those that it forks, if they are to be served."""
        # Also called in each process that the worker forks.
        if not self.worker_initialized and load_or_exit().WORKER_METRICS_PORT:
            os.environ[FOLDER] = tempfile.mkdtemp(prefix="quittance-metrics-")
        super().init_worker()


def forget_counts() -> None:
    """Remove the folder."""
    shutil.rmtree(os.environ.get(FOLDER, ""), ignore_errors=True)
