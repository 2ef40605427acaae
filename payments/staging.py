"""Whether this deployment is for tests."""

from django.conf import settings


def has_sandbox() -> bool:
    """Only staging has a sandbox."""
    return bool(settings.ENVIRONMENT == "staging")
