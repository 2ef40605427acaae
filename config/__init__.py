"""The deployment: settings, routes, the Celery application, and the API's shared parts."""

from config.celery import app as celery_app

__all__ = ["celery_app"]
