"""Which deployments have a sandbox."""

from django.conf import settings


def is_open() -> bool:
    """Whether this deployment has a sandbox. Only staging has one."""
    return bool(settings.ENVIRONMENT == "staging")
