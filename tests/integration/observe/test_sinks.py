"""The output of a deployment: JSON lines with the ids of a request from call to webhook, counts, and no secret."""

import base64
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

import requests
from django.db import connection

from config.celery import app
from merchants.models import ApiKey, Merchant
from tests.integration.observe.conftest import Deployment
from tests.processes import eventually
from tests.support.observe.shop import WALLET, Shop, base_usdc, order
from tests.support.webhooks.receiver import running_receiver


def _lines(log: str) -> Iterator[dict[str, Any]]:
    for line in log.splitlines():
        if line.startswith("{"):
            yield json.loads(line)


def test_json_logs_follow_a_payment_by_its_ids(
    deployment: Deployment, merchant: Merchant, api_key: tuple[ApiKey, str]
) -> None:
    token = base_usdc()
    shop = Shop(deployment.url, api_key[1])
    with running_receiver() as receiver:
        id = shop.first_order(token, receiver.url)
        paid = shop.call("POST", f"/api/test/payment-requests/{id}/simulate", {"outcome": "paid"}).json()
        app.send_task("webhooks.tasks.wake_deliveries")
        eventually(lambda: len(receiver.received) == 1, "the event arrived")
        event = receiver.received[0].headers["Service-Event-Id"]
        eventually(
            lambda: "webhook attempt 1 of payment.succeeded: 200" in deployment.logs["worker"],
            "it was logged",
        )
    web, worker = (list(_lines(deployment.logs[name])) for name in ("web", "worker"))
    (call,) = [line for line in web if line.get("request_id") == "from-the-shop" and "201" in line["message"]]
    assert call["payment_request_id"] == id
    moves = [line for line in web if line.get("payment_request_id") == id and "moved" in line["message"]]
    assert any("completed" in line["message"] for line in moves)
    assert paid["payments"][0]["id"] in {line.get("payment_id") for line in moves}
    (recorded,) = [line for line in web if line.get("event_id") == event]
    assert recorded["payment_request_id"] == id
    (attempt,) = [line for line in worker if line.get("event_id") == event]
    assert attempt["delivery_id"].startswith("dlv_") or attempt["delivery_id"]
    sample = 'quittance_tasks_total{state="SUCCESS",task="webhooks.tasks.wake_deliveries"}'
    eventually(lambda: sample in deployment.metrics(), "the task was counted")
    text = deployment.metrics()
    assert re.search(r'quittance_webhook_attempts_total\{outcome="delivered"\} 1\.0', text)
    assert re.search(r"quittance_webhook_lateness_seconds_count 1\.0", text)
    for line in deployment.logs["web"].splitlines():
        assert {"time", "level", "logger", "message", "process"} <= json.loads(line).keys()


@contextmanager
def _broken_table() -> Iterator[None]:
    """Rename a table, so that calls fail with an unexpected database error."""
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE webhooks_endpoint RENAME TO webhooks_endpoint_elsewhere")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE webhooks_endpoint_elsewhere RENAME TO webhooks_endpoint")


def test_no_secret_reaches_a_log_metric_page_error_or_trace(
    deployment: Deployment, merchant: Merchant, api_key: tuple[ApiKey, str]
) -> None:
    token = base_usdc()
    key = api_key[1]
    shop = Shop(deployment.url, key)
    with running_receiver() as receiver:
        secret = shop.call("PUT", "/api/webhooks", {"url": receiver.url}).json()["secret"]
        created = shop.call("POST", "/api/payment-requests", order(token)).json()
        # The node is down. The libraries' error messages contain its URL with all secrets.
        wallet = {"wallet_address": WALLET, "chain_id": token.chain_id, "token_id": token.pk}
        public = f"/api/public/payment-requests/{created['id']}"
        route = shop.call("POST", f"{public}/routes", wallet).json()["routes"][0]["id"]
        assert shop.call("POST", "/api/public/build-transaction", {"route_id": route}).status_code == 503
        app.send_task("chains.tasks.check_chains")
        eventually(lambda: "check_chains" in deployment.metrics(), "the nodes were checked")
        shop.call("GET", f"/api/webhooks?api_key={key}&secret={secret}")
        shop.call("GET", "/admin/", Cookie=f"sessionid={key}")
        requests.get(
            f"{deployment.url}/{key}/{secret}", timeout=30
        )  # the secrets are in the path, which is logged
        requests.get(
            f"{deployment.url}/api/payment-requests", headers={"Authorization": f"Bearer {key}x"}, timeout=30
        )
        with _broken_table():
            assert shop.call("GET", "/api/webhooks", Cookie=f"sessionid={key}").status_code == 500
            assert shop.call("POST", "/api/webhooks/test").status_code == 500
            app.send_task("webhooks.tasks.tell_merchants")
            eventually(lambda: "UndefinedTable" in deployment.logs["worker"], "a worker failed too")
        eventually(lambda: len(deployment.sentry.envelopes) >= 2, "errors were reported")
        failed = {"GET api/webhooks", "POST api/webhooks/test", "POST api/public/build-transaction"}
        eventually(
            lambda: failed <= {span.name for span in deployment.collector.spans if span.is_error},
            "what failed was traced",
        )
        sinks = {
            **deployment.logs,
            "metrics": deployment.metrics(),
            "pages": "\n".join(shop.pages),
            "Sentry": "\n".join(deployment.sentry.envelopes),
            "traces": "\n".join(deployment.collector.texts),
        }
    # Check that each sink received its data. An empty sink would pass the test for secrets.
    assert "unhandled error" in sinks["web"]
    assert "/[redacted]/[redacted] 404" in sinks["web"]
    assert "UndefinedTable" in sinks["worker"]
    assert "UndefinedTable" in sinks["Sentry"]
    assert "internal_error" in sinks["pages"]
    assert "quittance_http_requests_total" in sinks["metrics"]
    assert "UndefinedTable" in sinks["traces"] or "ProgrammingError" in sinks["traces"]
    values = {**deployment.secrets, "API key": key, "webhook secret": secret}
    for name, value in values.items():
        for part in value.split(","):
            forms = {part, quote(part, safe=""), base64.b64encode(part.encode()).decode().rstrip("=")}
            for sink, text in sinks.items():
                assert not any(form in text for form in forms), f"{name} is in {sink}"
