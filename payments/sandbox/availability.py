"""Whether a deployment has a sandbox."""

from django.conf import settings


def is_open() -> bool:
    """Return True on staging, the only environment with a sandbox."""
    return bool(settings.ENVIRONMENT == "staging")
