"""Send recorded work as spans to an OpenTelemetry collector (OTLP over HTTP).

A process imports this module only if it sends traces, and after its fork, because the exporter has a thread.

The trace id of a payment request is computed from the request's id. So one trace has all API calls, chain lookups and
webhook attempts for a payment request, although they happen in different processes and hours apart. Work on several
payments has a trace of its own, and each payment's trace links to it.

A span contains ids, names, numbers and SQL without values. A span contains no header, body, address or query.
"""

import hashlib
import logging
import os
import re
import threading
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from django.conf import settings
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.trace import Link, Span, SpanKind, Status, StatusCode, set_span_in_context

from config.api.log_context import logged_ids
from config.api.request_id import current_request_id
from config.logs import redact
from config.tracing import recording
from config.tracing.recording import Ids, Work

EXPORT_SECONDS = 5.0
FLUSH_SECONDS = 2.0
_MAX_QUEUED = 2048
_BATCH = 512
_EVERY_SECONDS = 2.0
_LONGEST_VALUE = 1000
_KINDS = {"server": SpanKind.SERVER, "client": SpanKind.CLIENT, "internal": SpanKind.INTERNAL}
_LITERAL = re.compile(r"'(?:[^']|'')*'")
_TABLE = re.compile(r'\b(?:FROM|INTO|UPDATE)\s+(?:ONLY\s+)?"?(\w+)', re.IGNORECASE)


class _ChosenIds(RandomIdGenerator):
    """Generates random ids, unless `choose` has set the ids of this thread's next span."""

    def __init__(self) -> None:
        self._chosen = threading.local()

    def choose(self, trace_id: int, span_id: int) -> None:
        self._chosen.trace_id, self._chosen.span_id = trace_id, span_id

    def generate_trace_id(self) -> int:
        return self._take("trace_id") or super().generate_trace_id()

    def generate_span_id(self) -> int:
        return self._take("span_id") or super().generate_span_id()

    def _take(self, name: str) -> int:
        value = getattr(self._chosen, name, 0)
        setattr(self._chosen, name, 0)
        return int(value)


class Spans:
    def __init__(self, role: str, exporter: SpanExporter) -> None:
        self._ids = _ChosenIds()
        resource = {
            SERVICE_NAME: os.environ.get("OTEL_SERVICE_NAME") or f"quittance-{role}",
            "deployment.environment.name": settings.ENVIRONMENT,
        }
        self._provider = TracerProvider(
            resource=Resource.create(resource), id_generator=self._ids, shutdown_on_exit=False
        )
        self._provider.add_span_processor(
            BatchSpanProcessor(
                exporter,
                max_queue_size=_MAX_QUEUED,
                schedule_delay_millis=_EVERY_SECONDS * 1000,
                max_export_batch_size=_BATCH,
            )
        )
        self._tracer = self._provider.get_tracer("quittance")

    def write(self, work: Work) -> None:
        ids = {**logged_ids(), "request_id": current_request_id()}
        if ids["request_id"] == "-":
            del ids["request_id"]
        subjects = _subjects(work, ids)
        if len(subjects) == 1:
            ids.update(subjects[0])
        root = self._start(work, ids, *place(work, ids))
        links = []
        if root.is_recording():
            links.append(Link(root.get_span_context()))
            self._write_statements(work, root)
        _finish(root, work.error, work.ended)
        if len(subjects) > 1:
            # Each trace is sampled separately: a payment's trace may be sent even if the trace of the root span isn't.
            for subject in subjects:
                span = self._start(work, {**ids, **subject}, *place(work, subject), links)
                _finish(span, work.error, work.ended)

    def _write_statements(self, work: Work, root: Span) -> None:
        inside = set_span_in_context(root, Context())
        for each in work.statements:
            summary, text = described(each.sql)
            span = self._tracer.start_span(
                summary,
                inside,
                SpanKind.CLIENT,
                {"db.system.name": "postgresql", "db.query.text": text},
                start_time=each.began,
            )
            _finish(span, each.error, each.ended)

    def _start(self, work: Work, ids: Ids, trace_id: int, span_id: int, links: Sequence[Link] = ()) -> Span:
        attributes = {**work.details, **ids}
        if work.statements_left_out:
            attributes["statements_left_out"] = work.statements_left_out
        masked = {name: _masked(value) for name, value in attributes.items()}
        self._ids.choose(trace_id, span_id)
        return self._tracer.start_span(
            _masked(work.name), Context(), _KINDS[work.kind], masked, links, start_time=work.began
        )

    def finish(self, seconds: float = FLUSH_SECONDS) -> None:
        """Send the remaining spans. Stop after `seconds`, because a collector that hangs must not block the process."""
        sending = threading.Thread(target=self._provider.shutdown, name="last-spans", daemon=True)
        sending.start()
        sending.join(seconds)


class TraceIds(logging.Filter):
    """Add the trace id and span id of the current piece of work to each log record."""

    def filter(self, record: logging.LogRecord) -> bool:
        work = recording.current()
        ids: Mapping[str, str] = getattr(record, "ids", {})
        if work is not None and _is_placed(work, ids):
            trace_id, span_id = place(work, ids)
            record.ids = {**ids, "trace_id": f"{trace_id:032x}", "span_id": f"{span_id:016x}"}
        return True


_running: Spans | None = None


def start(role: str) -> None:
    """Send this process's spans to the collector until `stop`. `role` is the kind of process, such as "web"."""
    global _running
    exporter = OTLPSpanExporter(
        endpoint=f"{settings.OTEL_EXPORTER_OTLP_ENDPOINT}/v1/traces",
        headers=settings.OTEL_EXPORTER_OTLP_HEADERS,
        timeout=EXPORT_SECONDS,
    )
    _running = Spans(role, exporter)
    for handler in logging.getLogger().handlers:
        handler.addFilter(TraceIds())
    recording.start(_running.write)


def stop() -> None:
    """Stop tracing. Send the remaining spans, for at most `FLUSH_SECONDS`."""
    global _running
    recording.stop()
    if _running is not None:
        _running.finish()
    _running = None


def trace_id_of(payment_request_id: str) -> int:
    """Return the trace id of a payment request: a hash, because samplers need evenly distributed bits."""
    return _digest(payment_request_id, 16)


def place(work: Work, ids: Ids) -> tuple[int, int]:
    """Return the trace id and span id of a piece of work.

    If the work concerns several payment requests, `ids` says which of them to use.
    """
    subjects = _subjects(work, ids)
    if len(subjects) == 1:
        return trace_id_of(subjects[0]["payment_request_id"]), work.span_id
    request = ids.get("payment_request_id")
    if request in {each["payment_request_id"] for each in subjects}:
        key = f"{work.span_id:x} {ids.get('payment_id', request)}"
        return trace_id_of(str(request)), _digest(key, 8)
    return work.trace_id, work.span_id


def _subjects(work: Work, ids: Ids) -> Sequence[Ids]:
    """Return the ids of each payment request that the work concerns."""
    if work.subjects or not work.joins:
        return work.subjects
    return [ids] if "payment_request_id" in ids else []


def _is_placed(work: Work, ids: Ids) -> bool:
    """Return whether it is already known to which trace the work belongs.

    The trace of an API call is unknown until the call has looked up the payment request.
    """
    return bool(work.details or not work.joins or _subjects(work, ids))


def _digest(text: str, size: int) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:size]) or 1


def described(sql: Any) -> tuple[str, str]:
    """Return the statement's short name, such as `SELECT payments_payment`, and its text without literals."""
    return _described(sql if isinstance(sql, str) else sql.as_string(None))


@lru_cache(maxsize=1024)
def _described(text: str) -> tuple[str, str]:
    text = redact(_LITERAL.sub("'?'", " ".join(text.split())))
    verb = text.partition(" ")[0].upper()
    table = _TABLE.search(text)
    return f"{verb} {table[1]}" if table else verb, text[:_LONGEST_VALUE]


def _masked(value: Any) -> Any:
    return redact(value)[:_LONGEST_VALUE] if isinstance(value, str) else value


def _finish(span: Span, error: str, ended: int) -> None:
    if error:
        span.set_status(Status(StatusCode.ERROR, error))
        span.set_attribute("error.type", error)
    span.end(ended)
