"""`/metrics` for Prometheus: requests as this process group saw them, and what stands in the database (contract 10).

What is due, how old it is and how the chains do is read from the database at the moment of asking, so that every
process tells the same. The apps' parts are named in `settings.METRICS`, each a function that yields metric families.
"""

import os
import time
from collections.abc import Callable, Iterator

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

_METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
_ANSWERS = Counter("quittance_http_requests", "Requests answered.", ("method", "route", "status"))
_SECONDS = Histogram("quittance_http_request_seconds", "Time to answer a request.", ("method", "route"))


class MeasureMiddleware:
    """Count each answer and its time by route: the pattern, never the path, which may be anything."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        began = time.perf_counter()
        response = self.get_response(request)
        method = request.method if request.method in _METHODS else "other"
        route = request.resolver_match.route if request.resolver_match else "unknown"
        _ANSWERS.labels(method, route, str(response.status_code)).inc()
        _SECONDS.labels(method, route).observe(time.perf_counter() - began)
        return response


class _FromTheDatabase(Collector):
    """What the apps tell of the rows that are due, and when a worker last finished a task."""

    def collect(self) -> Iterator[Metric]:
        """Yield each app's metric families."""
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
    """Answer in Prometheus' text format; to others than METRICS_TOKEN or this machine there is nothing here."""
    if not may_read_details(request):
        return HttpResponseNotFound("Not found. Send METRICS_TOKEN as a bearer credential.\n", "text/plain")
    text = generate_latest(_requests_registry()) + generate_latest(_database_registry())
    answer = HttpResponse(text, content_type=CONTENT_TYPE_LATEST)
    answer["Cache-Control"] = "no-store"
    return answer


def _requests_registry() -> CollectorRegistry:
    """All web processes' counts where they share a folder (config/gunicorn.py), else this process's own."""
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
