"""Spans: a payment request's trace, the ids in log lines, no secrets, and no waiting for a collector."""

import json
import logging
import threading
import time
import uuid
from collections.abc import Iterator, Sequence

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from psycopg import sql

from config import logs
from config.api.log_context import log_context
from config.api.request_id import RequestIdFilter, request_id_from
from config.logs import know_secrets
from config.observe.spans import Spans, TraceIds, described, trace_id_of
from config.tracing import recording
from config.tracing.recording import describe, statement, traced
from webhooks.dispatch.delivery import _subjects

ORDER = "01a1fd92-caa6-7393-afe5-964ec9235339"
OTHER = "01a1fd92-caa6-7393-afe5-964ec9235340"
PAYMENT = {"payment_request_id": ORDER, "payment_id": "pay_1"}
ANOTHER = {"payment_request_id": OTHER, "payment_id": "pay_2"}


class Written:
    """The exported spans. Reading them stops the export."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        self._spans = Spans("web", self._exporter)
        recording.start(self._spans.write)

    @property
    def spans(self) -> list[ReadableSpan]:
        self._spans.finish(20)
        return list(self._exporter.get_finished_spans())


@pytest.fixture
def written() -> Iterator[Written]:
    yield Written()
    recording.stop()


def trace_of(span: ReadableSpan) -> int:
    assert span.context is not None
    return span.context.trace_id


def test_work_of_every_process_joins_payment_request_trace(written: Written) -> None:
    with request_id_from("from-the-shop"), log_context(), traced("POST create", "server"):
        with log_context(payment_request_id=ORDER), statement("SELECT 1 FROM payments_payment"):
            pass
        with log_context(payment_request_id=ORDER):
            recording.describe({"http.route": "create"})
    with log_context(payment_request_id=ORDER, payment_id="pay_1"), traced("verify payments"):
        pass
    with log_context(event_id="evt_1"), traced("webhook attempt", "client", about=lambda: [PAYMENT]):
        pass
    spans = {span.name: span for span in written.spans}
    assert trace_of(spans["verify payments"]) == trace_id_of(ORDER)
    assert trace_of(spans["webhook attempt"]) == trace_id_of(ORDER)
    assert trace_of(spans["SELECT payments_payment"]) == trace_of(spans["POST create"])
    assert dict(spans["webhook attempt"].attributes or {}) == {"event_id": "evt_1", **PAYMENT}
    assert (spans["POST create"].attributes or {})["request_id"] == "from-the-shop"


def test_a_call_joins_the_trace_of_the_request_that_it_creates(written: Written) -> None:
    from config.api.log_context import add_to_log_context

    with log_context(), traced("POST create", "server"):
        with statement("INSERT INTO payments_paymentrequest VALUES (%s)"):
            pass
        add_to_log_context(payment_request_id=ORDER)
    statement_, call = written.spans
    assert trace_of(call) == trace_of(statement_) == trace_id_of(ORDER)
    assert statement_.parent is not None
    assert call.context is not None
    assert (statement_.name, statement_.parent.span_id) == (
        "INSERT payments_paymentrequest", call.context.span_id,
    )  # fmt: skip


def test_a_call_that_only_reads_has_a_trace_of_its_own(written: Written) -> None:
    for _ in range(2):
        with log_context(payment_request_id=ORDER), traced("GET status", "server", joins=False):
            pass
    first, second = written.spans
    assert len({trace_of(first), trace_of(second), trace_id_of(ORDER)}) == 3
    assert (first.attributes or {})["payment_request_id"] == ORDER


def test_work_on_several_payments_is_linked_in_each_trace(written: Written) -> None:
    with traced("verify payments", about=lambda: [PAYMENT, ANOTHER]), statement("SELECT 1"):
        pass
    spans = written.spans
    traces = {trace_of(span): span for span in spans if span.name == "verify payments"}
    own = traces.keys() - {trace_id_of(ORDER), trace_id_of(OTHER)}
    assert len(traces) == 3
    assert {trace_of(span) for span in spans if span.name == "SELECT"} == own
    for ids in (PAYMENT, ANOTHER):
        span = traces[trace_id_of(ids["payment_request_id"])]
        assert dict(span.attributes or {}) == ids
        assert {link.context.trace_id for link in span.links} == own


def shown(ids: dict[str, str]) -> dict[str, str]:
    """Return the fields of a log line that is written now with these ids."""
    record = logging.LogRecord("x", logging.INFO, __file__, 1, "message", (), None)
    with log_context(**ids):
        assert RequestIdFilter().filter(record)
        assert TraceIds().filter(record)
    ids = vars(record)["ids"]
    return ids


@pytest.mark.parametrize("about", [[], [PAYMENT], [PAYMENT, ANOTHER]])
def test_a_log_line_names_the_span_of_what_it_is_about(written: Written, about: list[dict[str, str]]) -> None:
    with log_context(**({} if about else PAYMENT)), traced("verify payments", about=lambda: about):
        line = shown(PAYMENT)
    assert line["trace_id"] == f"{trace_id_of(ORDER):032x}"
    contexts = [span.context for span in written.spans if span.context is not None]
    assert (line["trace_id"], line["span_id"]) in {
        (f"{each.trace_id:032x}", f"{each.span_id:016x}") for each in contexts
    }


def test_a_log_line_names_no_trace_before_a_call_has_one(written: Written) -> None:
    with log_context(), traced("POST create", "server"):
        assert "trace_id" not in shown({})
        describe({"http.response.status_code": 201})
        assert "trace_id" in shown({})
    assert "trace_id" not in shown({})


def test_secrets_are_masked_wherever_they_are(written: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "_known", None)
    know_secrets(["sixteen-characters-or-more"])
    key = "quitt_" + "0123456789abcdef" * 2
    with request_id_from(key), traced(f"GET {key}"), statement(f"SELECT 1 FROM {key} WHERE a = 'x'"):
        describe({"http.route": "sixteen-characters-or-more"})
    text = "".join(span.to_json() for span in written.spans)
    assert key not in text
    assert "sixteen-characters" not in text
    assert text.count("[redacted]") >= 4


@pytest.mark.parametrize(
    ("statement_", "name", "text"),
    [
        ('SELECT "a"."id" FROM "a" WHERE "a"."id" = %s', "SELECT a", 'SELECT "a"."id" FROM "a" WHERE "a"."id" = %s'),
        ("UPDATE a\n   SET b = 'it''s a value'", "UPDATE a", "UPDATE a SET b = '?'"),
        ("insert into a values (%s)", "INSERT a", "insert into a values (%s)"),
        ("SELECT pg_notify(%s, '')", "SELECT", "SELECT pg_notify(%s, '?')"),
        (sql.SQL("DELETE FROM {}").format(sql.Identifier("a")), "DELETE a", 'DELETE FROM "a"'),
        ("SELECT " + "x, " * 1000 + "y FROM a", "SELECT a", ("SELECT " + "x, " * 1000)[:1000]),
    ],
)  # fmt: skip
def test_statement_span_has_verb_and_table_but_no_literals(
    statement_: str | sql.Composed, name: str, text: str
) -> None:
    assert described(statement_) == (name, text)


def test_an_error_marks_the_span_and_says_no_more_than_its_name(written: Written) -> None:
    with pytest.raises(ValueError, match="no"), traced("a check"):
        raise ValueError("no secret")
    (span,) = written.spans
    assert (span.status.status_code.name, span.status.description) == ("ERROR", "ValueError")
    assert not span.events


@pytest.mark.parametrize(("share", "few", "many"), [("0", 0, 0), ("0.5", 60, 140), ("1", 200, 200)])
def test_sampling_traces_whole_payment_requests_or_none(
    monkeypatch: pytest.MonkeyPatch, share: str, few: int, many: int
) -> None:
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "parentbased_traceidratio")
    monkeypatch.setenv("OTEL_TRACES_SAMPLER_ARG", share)
    written = Written()
    try:
        for name in ("call", "attempt"):
            for number in range(200):
                with log_context(payment_request_id=uuid.UUID(int=number)), traced(name):
                    pass
        orders = [{"payment_request_id": str(uuid.UUID(int=number))} for number in range(200)]
        with traced("check", about=lambda: orders):
            pass
    finally:
        recording.stop()
    spans = written.spans
    called = {trace_of(span) for span in spans if span.name == "call"}
    assert few <= len(called) <= many
    assert called == {trace_of(span) for span in spans if span.name == "attempt"}
    checked = {trace_of(span) for span in spans if span.name == "check" and span.attributes}
    assert called == checked


class Hanging(SpanExporter):
    """A collector that never responds."""

    def __init__(self) -> None:
        self.is_asked, self.goes_on = threading.Event(), threading.Event()

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.is_asked.set()
        self.goes_on.wait()
        return SpanExportResult.FAILURE


def test_a_collector_that_hangs_neither_slows_nor_holds_anything() -> None:
    exporter = Hanging()
    spans = Spans("web", exporter)
    recording.start(spans.write)
    try:
        began = time.monotonic()
        for number in range(5000):  # more than the queue can hold
            with traced(f"call {number}"):
                pass
        assert exporter.is_asked.wait(20)
        spans.finish(0.2)
        assert time.monotonic() - began < 20
        assert not exporter.goes_on.is_set()
    finally:
        recording.stop()
        exporter.goes_on.set()


@pytest.mark.parametrize(
    ("about", "ids"),
    [
        ({"id": "pay_1", "payment_request": ORDER}, [PAYMENT]),
        ({"id": None, "payment_request": ORDER}, [{"payment_request_id": ORDER}]),
        ({"id": "rf_1", "object": "refund", "payment_request": ORDER}, [{"payment_request_id": ORDER}]),
        ({"id": "pay_1", "payment_request": ORDER, "test": True}, []),
        ({}, []),
    ],
)
def test_an_attempt_is_about_what_its_event_is_about(
    about: dict[str, object], ids: list[dict[str, str]]
) -> None:
    assert _subjects(json.dumps({"data": {"object": about}}).encode()) == ids
    assert _subjects(b"no event") == []
