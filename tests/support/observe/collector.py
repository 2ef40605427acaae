"""A local OpenTelemetry collector. It receives the service's traces as OTLP over HTTP."""

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.loopback import Exchange, scripted


@dataclass(frozen=True)
class Seen:
    """A received span. Ids are hexadecimal. `links` are the ids of linked traces."""

    service: str
    name: str
    trace_id: str
    span_id: str
    parent_id: str
    attributes: dict[str, Any]
    links: tuple[str, ...]
    is_error: bool


@dataclass
class Collector:
    """The received spans and headers, and everything as text.

    `status` is the status of its responses. Until `goes_on` is set, it doesn't respond.
    """

    url: str = ""
    status: int = 200
    spans: list[Seen] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    is_asked: threading.Event = field(default_factory=threading.Event)
    goes_on: threading.Event = field(default_factory=threading.Event)

    def trace(self, trace_id: str) -> list[Seen]:
        return [span for span in self.spans if span.trace_id == trace_id]


@contextmanager
def running_collector() -> Iterator[Collector]:
    collector = Collector()
    collector.goes_on.set()

    def take(exchange: Exchange) -> None:
        body = exchange.body
        if exchange.headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        collector.is_asked.set()
        collector.goes_on.wait()
        if exchange.path != "/v1/traces":
            exchange.send(404)
            return
        collector.headers.append(exchange.headers)
        message = ExportTraceServiceRequest.FromString(body)
        collector.texts.append(str(message))
        collector.spans += _spans(message)
        exchange.send(collector.status)

    try:
        with scripted(take) as server:
            collector.url = server.url
            yield collector
    finally:
        collector.goes_on.set()


def _spans(message: ExportTraceServiceRequest) -> Iterator[Seen]:
    for resource in message.resource_spans:
        service = _values(resource.resource.attributes)["service.name"]
        for scope in resource.scope_spans:
            for span in scope.spans:
                yield Seen(
                    service,
                    span.name,
                    span.trace_id.hex(),
                    span.span_id.hex(),
                    span.parent_span_id.hex(),
                    _values(span.attributes),
                    tuple(link.trace_id.hex() for link in span.links),
                    span.status.code == span.status.STATUS_CODE_ERROR,
                )


def _values(attributes: Any) -> dict[str, Any]:
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in attributes}
