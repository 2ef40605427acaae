"""`/healthz` says that the process is alive; `/readyz` that what it stands on answers (contract 10)."""

import ipaddress
import secrets
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

from config.api.methods import only_read

_HEARTBEAT = "worker-heartbeat"
HEARTBEAT_SECONDS = 60


@only_read
def alive(request: HttpRequest) -> JsonResponse:  # noqa: ARG001 - the view interface
    """Answer 200 as long as the process can answer at all."""
    return JsonResponse({"status": "ok"})


@only_read
def ready(request: HttpRequest) -> JsonResponse:
    """Answer 200 when database, Redis and a worker answer, else 503; the details only to those who may read them.

    How the chains do stands in the details and changes nothing: the other chains' merchants are served all the same.
    """
    parts = {
        "database": _database_answers(),
        "redis": _redis_answers(),
        "worker": heartbeat_age() is not None,
    }
    ok = all(parts.values())
    body: dict[str, object] = {"status": "ok" if ok else "unavailable"}
    if may_read_details(request):
        body |= {"parts": parts, "worker_heartbeat_age_seconds": heartbeat_age()}
        if parts["database"]:
            body |= {name: import_string(path)() for name, path in settings.READINESS_DETAILS.items()}
    return JsonResponse(body, status=200 if ok else 503)


def beat_heart() -> None:
    """Note that a worker has just finished a task; without Redis the note is dropped, and the work goes on."""
    with suppress(RedisError):
        cache.set(_HEARTBEAT, time.time(), HEARTBEAT_SECONDS)


def heartbeat_age() -> float | None:
    """Return the seconds since a worker finished a task, or None if that is more than a minute ago."""
    try:
        noted = cache.get(_HEARTBEAT)
    except RedisError:
        return None
    return None if noted is None else max(time.time() - noted, 0.0)


def may_read_details(request: HttpRequest) -> bool:
    """Whether the caller holds METRICS_TOKEN or, where none is set, calls from this machine."""
    if settings.METRICS_TOKEN:
        given = request.headers.get("Authorization", "").removeprefix("Bearer ")
        return secrets.compare_digest(given.encode(), settings.METRICS_TOKEN.encode())
    if "X-Forwarded-For" in request.headers:  # from a proxy on this machine, and whoever stands behind it
        return False
    try:
        return ipaddress.ip_address(request.META.get("REMOTE_ADDR", "")).is_loopback
    except ValueError:
        return False


def _database_answers() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return False
    return True


def _redis_answers() -> bool:
    try:
        cache.get("readyz")
    except RedisError:
        return False
    return True


urlpatterns = [path("healthz", alive), path("readyz", ready)]
