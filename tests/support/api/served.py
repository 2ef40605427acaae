"""One object of each kind that the API returns, and a running service that returns them."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests
from django.test import Client
from django.utils import timezone

from chains.models import Token
from demo.services.process import free_port
from merchants.models import Merchant
from payments.models import FailureCode, Payment, PaymentRequest
from tests.processes import Process, eventually
from tests.support.payments.rows import new_payment
from webhooks.models import Delivery, Event

WALLET = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"


@dataclass(frozen=True)
class Objects:
    """The objects' ids, and the values needed for further calls."""

    request: str
    payment: str
    event: str
    delivery: str
    route: str
    token: int
    chain: int
    recipient: str


def prepare(key: str, merchant: Merchant, token: Token, order: Callable[..., dict[str, Any]]) -> Objects:
    """Create one object of each kind, through the API if it has a call for it."""
    client = Client(headers={"X-API-Key": key})

    def call(method: str, path: str, body: dict[str, Any]) -> Any:
        response = client.generic(method, path, json.dumps(body), content_type="application/json")
        assert response.status_code < 300, response.content
        return response.json()

    body = order(description="Two loaves", metadata={"customer": "c-42"}, external_id="order-1001")
    request = call("POST", "/api/payment-requests", body)
    # No server listens there, so deliveries fail immediately.
    call("PUT", "/api/webhooks", {"url": f"http://127.0.0.1:{free_port()}/"})
    paid = call("POST", "/api/payment-requests", order())
    call("POST", f"/api/test/payment-requests/{paid['id']}/simulate", {"outcome": "paid"})
    call("POST", "/api/webhooks/test", {})
    payment = new_payment(
        request=PaymentRequest.objects.get(pk=request["id"]),
        chain=token.chain,
        transaction_hash="0x" + "5a" * 32,
        status=Payment.Status.FAILED,
        failure_code=FailureCode.TRANSACTION_NOT_BOUND,
        failure_message="Nothing ties this transaction to the request.",
        failed_at=timezone.now(),
        next_check_at=None,
    )
    wallet = {"wallet_address": WALLET, "chain_id": token.chain_id, "token_id": token.pk}
    routes = call("POST", f"/api/public/payment-requests/{request['id']}/routes", wallet)
    return Objects(
        request=request["id"],
        payment=payment.pk,
        event=Event.objects.filter(merchant=merchant).latest("created").pk,
        delivery=Delivery.objects.filter(merchant=merchant, is_test=True).latest("created_at").pk,
        route=routes["routes"][0]["id"],
        token=token.pk,
        chain=token.chain_id,
        recipient=body["recipient_address"],
    )


class Service:
    """The web process as in production, on the loopback interface."""

    def __init__(self, log: Path, **settings: str) -> None:
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        more = {"PORT": str(port), "WEB_CONCURRENCY": "1", "BASE_URL": self.url, "CHECKOUT_URL": self.url}
        self.process = Process(log, "gunicorn", "--config", "config/gunicorn.py", **more, **settings)
        eventually(self._is_up, "the service answered")

    def _is_up(self) -> bool:
        try:
            return requests.get(self.url + "/healthz", timeout=2).ok
        except requests.RequestException:
            return False
