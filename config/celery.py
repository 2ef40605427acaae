"""The Celery application. Celery only nudges: what is due stands in PostgreSQL (see docs/decisions)."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

app = Celery("quittance")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
