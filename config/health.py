"""`/healthz`: the process is alive. `/readyz`: its dependencies respond."""

import ipaddress
import time
from contextlib import suppress

from django.conf import settings
from django.core.cache import cache
from django.db import Error as DatabaseError
from django.db import connection
from django.http import HttpRequest, JsonResponse
from django.urls import path
from django.utils.module_loading import import_string
from redis.exceptions import RedisError

from config.api.limits.client_address import client_address
from config.api.methods import only_read
from config.observe.bearer import is_bearer_of
from config.server import probe

_HEARTBEAT = "worker-heartbeat"
HEARTBEAT_SECONDS = 60


@only_read
def alive(request: HttpRequest) -> JsonResponse:  # noqa: ARG001 - the view interface
    return JsonResponse({"status": "ok"})


@only_read
def ready(request: HttpRequest) -> JsonResponse:
    """Return 200 if the database, Redis and a worker respond, and each app is ready. Otherwise return 503.

    An unhealthy chain shows only in the details and doesn't change the status, because the other chains work. The same
    applies to a read-only database: pages and GET requests still work.
    """
    is_read_only = _database_is_read_only()
    parts = {
        "database": is_read_only is not None,
        "redis": _redis_responds(),
        "worker": heartbeat_age() is not None,
    }
    if parts["database"]:
        parts |= {name: import_string(path)() for name, path in settings.READINESS_CHECKS.items()}
    ok = all(parts.values())
    body: dict[str, object] = {"status": "ok" if ok else "unavailable"}
    if may_read_details(request):
        body |= {"parts": parts, "worker_heartbeat_age_seconds": heartbeat_age()}
        body["database_is_read_only"] = is_read_only
        if parts["database"]:
            body |= {name: import_string(path)() for name, path in settings.READINESS_DETAILS.items()}
    if probe.is_valid(request.headers.get(probe.HEADER, "")):
        body["seen"] = _as_seen(request)
    return JsonResponse(body, status=200 if ok else 503)


def _as_seen(request: HttpRequest) -> dict[str, object]:
    """Return the parts of this request that the proxy may have changed.

    `manage.py doctor` compares them with the request that it sent.
    """
    return {
        "is_secure": request.is_secure(),
        "client": str(client_address(request) or ""),
        "forwarded": request.headers.get("X-Forwarded-For", ""),
        "host": request.get_host(),
    }


def beat_heart() -> None:
    """Record in Redis that a worker finished a task. Do nothing if Redis is down."""
    with suppress(RedisError):
        cache.set(_HEARTBEAT, time.time(), HEARTBEAT_SECONDS)


def heartbeat_age() -> float | None:
    """Return the seconds since a worker finished a task. Return None if no worker did so in the last minute."""
    try:
        noted = cache.get(_HEARTBEAT)
    except RedisError:
        return None
    return max(time.time() - noted, 0.0) if isinstance(noted, float) else None


def may_read_details(request: HttpRequest) -> bool:
    """Return whether the caller sent METRICS_TOKEN or, if no token is set, whether the call comes from this machine."""
    if settings.METRICS_TOKEN:
        return is_bearer_of(request.headers.get("Authorization", ""), settings.METRICS_TOKEN)
    if "X-Forwarded-For" in request.headers:  # a proxy on this machine forwards a remote client's request
        return False
    try:
        return ipaddress.ip_address(request.META.get("REMOTE_ADDR", "")).is_loopback
    except ValueError:
        return False


def _database_is_read_only() -> bool | None:
    """Return whether the database rejects writes. Return None if it doesn't respond."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SHOW transaction_read_only")
            return bool(cursor.fetchone()[0] == "on")
    except DatabaseError:
        return None


def _redis_responds() -> bool:
    try:
        cache.get("readyz")
    except RedisError:
        return False
    return True


urlpatterns = [path("healthz", alive), path("readyz", ready)]
