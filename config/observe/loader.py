"""Celery's loader, which sets the metrics folder of all worker processes before a worker imports any metrics."""

import os
import shutil
import tempfile

from celery.loaders.app import AppLoader

from config.environment import load_or_exit

FOLDER = "PROMETHEUS_MULTIPROC_DIR"


class Loader(AppLoader):  # type: ignore[misc]
    def init_worker(self) -> None:
        """If metrics are on, make a folder where this process and its forks write their counts."""
        # Forked processes call this method too, but keep the folder.
        if not self.worker_initialized and load_or_exit().WORKER_METRICS_PORT:
            os.environ[FOLDER] = tempfile.mkdtemp(prefix="quittance-metrics-")
        super().init_worker()


def forget_counts() -> None:
    shutil.rmtree(os.environ.get(FOLDER, ""), ignore_errors=True)
