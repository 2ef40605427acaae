"""What Celery nudges. Each task is safe to run twice, late or never: the database says what is due."""

from celery import shared_task

from payments import requests, verification


@shared_task
def verify_due() -> int:
    """Look at the due payments."""
    return verification.verify_due()


@shared_task
def expire_due() -> int:
    """Expire the requests whose time is over."""
    return requests.expire_due()
