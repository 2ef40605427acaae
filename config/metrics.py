"""`/metrics` for Prometheus.

The counts of requests include all web processes on this machine. Gauges are read from the database for each response,
so every process returns the same values. `settings.METRICS` lists the functions that read the gauges.
"""

import os
import time
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseNotFound
from django.urls import path
from django.utils.module_loading import import_string
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    REGISTRY,
    CollectorRegistry,
    Counter,
    Histogram,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from config.api.methods import only_read
from config.health import heartbeat_age, may_read_details
from config.observe.build_info import build_registry
from config.tracing.recording import describe, leave_out

_METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
_BY_ANY_HOST = frozenset(("/metrics", "/healthz"))
_MONITORING = frozenset(("metrics", "healthz", "readyz"))
_RESPONSES = Counter("quittance_http_requests", "HTTP responses.", ("method", "route", "status"))
_SECONDS = Histogram("quittance_http_request_seconds", "Time to respond to a request.", ("method", "route"))


class AnyHostMiddleware:
    """Let monitoring call each process by its own address, even if ALLOWED_HOSTS doesn't contain it.

    Any host is safe here, because the responses don't depend on the host.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response
        self._host = urlsplit(settings.BASE_URL).netloc

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path_info in _BY_ANY_HOST:
            request.META["HTTP_HOST"] = self._host
        return self.get_response(request)


class MeasureMiddleware:
    """Count responses and durations by route. A label with the path would have too many values."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        began = time.perf_counter()
        response = self.get_response(request)
        method = request.method if request.method in _METHODS else "other"
        route = request.resolver_match.route if request.resolver_match else "unknown"
        _RESPONSES.labels(method, route, str(response.status_code)).inc()
        _SECONDS.labels(method, route).observe(time.perf_counter() - began)
        self._trace(method, route, response.status_code)
        return response

    @staticmethod
    def _trace(method: str, route: str, status: int) -> None:
        is_error = status >= 500
        # Static files, unknown paths and calls over a rate limit have no route.
        if route in _MONITORING or (route == "unknown" and not is_error):
            leave_out()
        details: dict[str, str | int] = {"http.request.method": method, "http.route": route}
        details["http.response.status_code"] = status
        describe(details, name=f"{method} {route}", error=str(status) if is_error else "")


class _FromTheDatabase(Collector):
    """Collects the apps' metrics and the time since a worker last finished a task."""

    def collect(self) -> Iterator[Metric]:
        for name in settings.METRICS:
            yield from import_string(name)()
        age = heartbeat_age()
        heart = GaugeMetricFamily(
            "quittance_worker_heartbeat_age_seconds",
            "Seconds since a worker last finished a task; absent when that is over a minute ago.",
        )
        if age is not None:
            heart.add_metric((), age)
        yield heart


@only_read
def metrics(request: HttpRequest) -> HttpResponse:
    """Return the metrics in Prometheus' text format, or 404 if the caller may not read them (`may_read_details`)."""
    if not may_read_details(request):
        return HttpResponseNotFound("Not found. Send METRICS_TOKEN as a bearer credential.\n", "text/plain")
    registries = (_requests_registry(), build_registry(), _database_registry())
    text = b"".join(map(generate_latest, registries))
    response = HttpResponse(text, content_type=CONTENT_TYPE_LATEST)
    response["Cache-Control"] = "no-store"
    return response


def _requests_registry() -> CollectorRegistry:
    """Return the counts of all web processes if they share a folder (config/gunicorn.py)."""
    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        return REGISTRY
    shared = CollectorRegistry()
    MultiProcessCollector(shared)  # type: ignore[no-untyped-call]
    return shared


def _database_registry() -> CollectorRegistry:
    registry = CollectorRegistry()
    registry.register(_FromTheDatabase())
    return registry


urlpatterns = [path("metrics", metrics)]
