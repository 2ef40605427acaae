"""Doctor reports a collector that doesn't accept traces. Without a collector, there is nothing to check."""

from pytest_django import Settings

from config.doctor import traces
from config.doctor.finding import Level
from tests.support.observe.collector import running_collector

KEY = "a-key-of-the-collector"


def test_a_collector_that_accepts_traces_has_nothing_wrong(settings: Settings) -> None:
    settings.OTEL_EXPORTER_OTLP_HEADERS = {"x-api-key": KEY}
    with running_collector() as collector:
        settings.OTEL_EXPORTER_OTLP_ENDPOINT = collector.url
        (finding,) = traces.check()
        (headers,) = collector.headers
    assert finding.level is Level.OK
    assert headers["x-api-key"] == KEY


def test_a_collector_that_refuses_the_key_is_named_without_it(settings: Settings) -> None:
    settings.OTEL_EXPORTER_OTLP_HEADERS = {"x-api-key": KEY}
    with running_collector() as collector:
        collector.status = 401
        settings.OTEL_EXPORTER_OTLP_ENDPOINT = collector.url
        (finding,) = traces.check()
    assert finding.level is Level.WARNING
    assert finding.summary.endswith("returns 401: traces are lost")
    assert KEY not in finding.summary + finding.advice


def test_a_collector_that_can_not_be_reached_is_named(settings: Settings) -> None:
    settings.OTEL_EXPORTER_OTLP_ENDPOINT = "http://127.0.0.1:1"
    (finding,) = traces.check()
    assert finding.level is Level.WARNING
    assert "this machine can't reach" in finding.summary


def test_without_a_collector_there_is_nothing_to_check(settings: Settings) -> None:
    (finding,) = traces.check()
    assert (finding.level, finding.summary) == (
        Level.OK, "no traces are sent (OTEL_EXPORTER_OTLP_ENDPOINT is not set)",
    )  # fmt: skip
