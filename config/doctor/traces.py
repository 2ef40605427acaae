"""Check the collector of traces."""

from collections.abc import Iterator

import requests
from django.conf import settings

from config.doctor.finding import Finding, fine, warning

_SECONDS = 5


def check() -> Iterator[Finding]:
    """Yield whether the collector accepts an empty export."""
    endpoint = settings.OTEL_EXPORTER_OTLP_ENDPOINT
    if not endpoint:
        yield fine("collector", "no traces are sent (OTEL_EXPORTER_OTLP_ENDPOINT is not set)")
        return
    headers = {**settings.OTEL_EXPORTER_OTLP_HEADERS, "Content-Type": "application/x-protobuf"}
    try:
        response = requests.post(
            f"{endpoint}/v1/traces", data=b"", headers=headers, timeout=_SECONDS, allow_redirects=False
        )
    except requests.RequestException as error:
        summary = f"this machine can't reach the collector at {endpoint} ({type(error).__name__})"
        yield warning("collector", summary, "Check OTEL_EXPORTER_OTLP_ENDPOINT, and that the collector runs.")
        return
    if response.ok:
        yield fine("collector", f"{endpoint} accepts traces")
    else:
        advice = "Check OTEL_EXPORTER_OTLP_HEADERS, and that the address accepts OTLP over HTTP."
        yield warning("collector", f"{endpoint} returns {response.status_code}: traces are lost", advice)
