"""Whether a deployment has a sandbox."""

from django.conf import settings


def is_open() -> bool:
    """Only staging has a sandbox."""
    return bool(settings.ENVIRONMENT == "staging")
