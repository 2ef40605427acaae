"""The checks of `manage.py doctor` for webhooks: partitions, waiting deliveries, secrets, and connections."""

import time
from collections.abc import Iterator

from cryptography.fernet import InvalidToken
from django.utils import timezone

from config.doctor.finding import Finding, by_limits, failed, fine, warning
from webhooks.dispatch import http_client
from webhooks.dispatch.http_client import Resolve, Rules
from webhooks.endpoints import secrets_at_rest
from webhooks.metrics import overdue
from webhooks.models import Endpoint
from webhooks.storage import partitions

OVERDUE_SECONDS = (60.0, 600.0)
_MAX_SECRETS = 200
_MAX_TRIED = 3
_SECONDS = 10.0
# Partitions are created 60 days ahead. Warn if they cover less than the next 30 days, and fail if they cover less than
# `LEAST_AHEAD`. `by_limits` reports values above a limit, so both the limits and the days are negated.
_AHEAD_DAYS = (-30.0, -partitions.LEAST_AHEAD.total_seconds() / 86_400)


def check_partitions() -> Iterator[Finding]:
    """Report for how many more days there are partitions for new events."""
    days = partitions.days_ahead(timezone.now())
    advice = "Start beat and a worker, which create partitions 60 days ahead, and read the worker's log."
    summary = f"there are partitions of events and attempts for {max(days, 0):.0f} days"
    yield by_limits("partitions", -days, _AHEAD_DAYS, summary, advice)


def check_queue() -> Iterator[Finding]:
    _, seconds = overdue(timezone.now())
    summary = f"the longest overdue delivery has waited {seconds:.0f} s"
    advice = "Start more workers, and read their logs. Endpoints that are slow or down don't delay others."
    yield by_limits("deliveries", seconds, OVERDUE_SECONDS, summary, advice)


def check_secrets() -> Iterator[Finding]:
    """Check that ENCRYPTION_KEYS can decrypt the stored webhook secrets.

    After a restore from backup, a key may be missing.
    """
    stored = Endpoint.objects.order_by("-updated_at").values_list("secret_encrypted", flat=True)[
        :_MAX_SECRETS
    ]
    unreadable = sum(not _is_readable(each) for each in stored)
    if unreadable:
        summary = f"{unreadable} of the newest {len(stored)} webhook secrets can't be decrypted"
        advice = "Add the missing key to ENCRYPTION_KEYS. Without it, webhooks can't be signed."
        yield failed("ENCRYPTION_KEYS", summary, advice)
    else:
        yield fine("ENCRYPTION_KEYS", "decrypts the stored webhook secrets")


def check_egress(*, resolve: Resolve | None = None) -> Iterator[Finding]:
    """Check whether merchants' endpoints accept connections. No request is sent."""
    urls = Endpoint.objects.filter(is_enabled=True, url__isnull=False).order_by("-updated_at")
    tried = [url for url in urls.values_list("url", flat=True)[:_MAX_TRIED] if url]
    if not tried:
        yield fine("egress", "no merchant has an endpoint yet")
        return
    errors = [error for url in tried if (error := _connection_error(url, resolve))]
    if len(errors) == len(tried):
        advice = (
            "Let workers resolve names and connect to the Internet on ports 443 and 1024 up. They use "
            "no proxy."
        )
        yield failed("egress", f"none of {len(tried)} endpoints can be connected to: {errors[0]}", advice)
    elif errors:
        summary = f"{len(errors)} of {len(tried)} endpoints can't be connected to: {errors[0]}"
        yield warning("egress", summary, "If other endpoints work, the fault is the merchant's.")
    else:
        yield fine("egress", f"{len(tried)} endpoints of merchants can be connected to")


def _connection_error(url: str, resolve: Resolve | None) -> str:
    return http_client.try_connecting(
        url, rules=Rules.of_this_deployment(), ends_at=time.monotonic() + _SECONDS, resolve=resolve
    )


def _is_readable(stored: bytes | memoryview) -> bool:
    try:
        secrets_at_rest.decrypt(stored)
    except InvalidToken:
        return False
    return True
