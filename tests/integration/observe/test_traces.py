"""A payment is one trace from the call to the webhook. A collector that hangs delays nothing."""

import json
import time

from config.celery import app
from config.observe.spans import EXPORT_SECONDS, FLUSH_SECONDS, trace_id_of
from merchants.models import ApiKey, Merchant
from tests.integration.observe.conftest import Deployment
from tests.processes import eventually
from tests.support.observe.collector import Seen
from tests.support.observe.shop import Shop, base_usdc, order
from tests.support.webhooks.receiver import running_receiver

HASH = "0x" + "ab" * 32
# The documented headers, and those that HTTP needs.
WEBHOOK_HEADERS = {
    "host", "content-type", "content-length", "user-agent", "accept-encoding", "connection",
    "service-event-id", "service-event-type", "service-signature",
}  # fmt: skip


def test_payment_is_one_trace_that_ends_with_the_process(
    deployment: Deployment, merchant: Merchant, api_key: tuple[ApiKey, str]
) -> None:
    token = base_usdc()
    shop = Shop(deployment.url, api_key[1])
    with running_receiver() as receiver:
        id = shop.first_order(token, receiver.url)
        trace_id = f"{trace_id_of(id):032x}"
        # A customer's payment. Its node is down, so the worker can't decide it.
        hash = {"transaction_hash": HASH, "chain_id": token.chain_id}
        submitted = shop.call("POST", f"/api/public/payment-requests/{id}/payments", hash)
        assert submitted.status_code in (200, 201), submitted.text
        app.send_task("payments.tasks.wake_verification")
        paid = shop.call("POST", f"/api/test/payment-requests/{id}/simulate", {"outcome": "paid"}).json()
        app.send_task("webhooks.tasks.wake_deliveries")
        eventually(lambda: len(receiver.received) == 1, "the event arrived")
        headers = receiver.received[0].headers

        def named() -> dict[str, Seen]:
            return {span.name: span for span in deployment.collector.trace(trace_id)}

        wanted = {"POST api/payment-requests", "verify payments", "webhook attempt"}
        eventually(lambda: wanted <= named().keys(), "the spans arrived")
    spans = named()
    call, check, attempt = (spans[name] for name in sorted(wanted))
    assert (call.service, check.service, attempt.service) == (
        "quittance-web", "quittance-worker", "quittance-worker",
    )  # fmt: skip
    assert (call.attributes["request_id"], call.attributes["payment_request_id"]) == ("from-the-shop", id)
    assert (check.attributes["payment_request_id"], check.attributes["chain_id"]) == (id, "8453")
    assert attempt.attributes["payment_request_id"] == id
    assert attempt.attributes["payment_id"] in {each["id"] for each in paid["payments"]}
    assert attempt.attributes["event_id"] == headers["Service-Event-Id"]
    assert attempt.attributes["delivery_id"]
    below = {span.name for span in deployment.collector.trace(trace_id) if span.parent_id == call.span_id}
    assert any(name.startswith(("INSERT ", "WITH ")) for name in below)
    # The webhook to the merchant contains no part of the trace.
    assert {name.lower() for name in headers} <= WEBHOOK_HEADERS
    sent = deployment.collector.headers[0]["authorization"]
    assert sent == f"Bearer {deployment.secrets['key of the collector']}"
    # Each log line about the request has the trace's id.
    lines = [json.loads(line) for line in deployment.logs["web"].splitlines() if line.startswith("{")]
    moves = [
        line for line in lines if line.get("payment_request_id") == id and line.get("request_id", "-") != "-"
    ]
    assert {line["trace_id"] for line in moves} == {trace_id}
    assert call.span_id in {line["span_id"] for line in moves}
    # A process sends its last spans when it is stopped.
    last = shop.call("POST", "/api/payment-requests", order(token)).json()
    deployment.processes["web"].ask_to_stop()
    assert deployment.processes["web"].wait(30) == 0
    assert deployment.collector.trace(f"{trace_id_of(last['id']):032x}")


def test_hanging_collector_delays_no_call_and_no_exit(
    deployment: Deployment, merchant: Merchant, api_key: tuple[ApiKey, str]
) -> None:
    deployment.collector.goes_on.clear()
    token = base_usdc()
    shop = Shop(deployment.url, api_key[1])
    assert shop.call("GET", "/api/webhooks").status_code == 200
    eventually(deployment.collector.is_asked.is_set, "the collector was asked")
    began = time.monotonic()
    with running_receiver() as receiver:
        shop.call("PUT", "/api/webhooks", {"url": receiver.url})
        id = shop.call("POST", "/api/payment-requests", order(token)).json()["id"]
        paid = shop.call("POST", f"/api/test/payment-requests/{id}/simulate", {"outcome": "paid"})
        assert paid.status_code == 200
        app.send_task("webhooks.tasks.wake_deliveries")
        eventually(lambda: len(receiver.received) == 1, "the event arrived")
    took = time.monotonic() - began
    assert took < EXPORT_SECONDS, "a call waited for the collector"
    for process in deployment.processes.values():
        process.ask_to_stop()
    for name, process in deployment.processes.items():
        # The flush has this time limit. Without a flush, the exporter would wait for its own, longer limit.
        assert process.wait(FLUSH_SECONDS + 20) == 0, name
