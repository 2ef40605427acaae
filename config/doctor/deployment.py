"""Check for settings that are valid but unsafe or incomplete in production."""

from collections.abc import Iterator

from django.conf import settings
from django.core import checks

from config.doctor.finding import Finding, fine, warning

_OPEN = {
    "DEBUG": "error pages show code and settings",
    "ALLOW_HTTP_URLS": "redirects of customers and webhooks can be unencrypted",
    "WEBHOOK_ALLOW_PRIVATE": "merchants can make the service call addresses inside your network",
}


def check() -> Iterator[Finding]:
    found = [*_open_doors(), *_incomplete(), *_django()]
    yield from found or [fine("settings", f"valid for {settings.ENVIRONMENT}")]


def _open_doors() -> Iterator[Finding]:
    for name, why in _OPEN.items():
        if settings.ENVIRONMENT == "production" and getattr(settings, name):
            yield warning(name, f"is on in production: {why}", f"Remove {name} from the settings.")


def _incomplete() -> Iterator[Finding]:
    if settings.ENVIRONMENT == "production" and not settings.METRICS_TOKEN:
        yield warning(
            "METRICS_TOKEN",
            "is not set, so monitoring on another machine can't read /metrics",
            "Set METRICS_TOKEN to a random value, and send it as a bearer credential from your monitoring.",
        )
    if not settings.COLLECTED and not settings.DEBUG:
        yield warning(
            "static files",
            "are not collected, so the service sends them without compression and long caching",
            "Run manage.py collectstatic --noinput, then restart web.",
        )


def _django() -> Iterator[Finding]:
    """Yield the findings of Django's system checks. In production, these include the checks for deployment."""
    for message in checks.run_checks(include_deployment_checks=settings.ENVIRONMENT == "production"):
        if not message.is_silenced() and message.level >= checks.WARNING:
            hint = " ".join(str(message.hint or "See Django's documentation of this check.").split())
            yield warning(str(message.id), " ".join(str(message.msg).split()), hint)
