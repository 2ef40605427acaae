"""Calls that wait for a hanging receiver, node or name server take no thread from calls that need only the database."""

import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
import requests
from django.utils import timezone

from chains.models import Chain, Token
from config.api.limits.waiting import MAX_WAITING
from merchants.models import ApiKey
from payments.models import PaymentRequest, Route
from tests.conftest import Api
from tests.processes import eventually
from tests.support.api.fixtures import CREATE
from tests.support.api.served import Service

pytestmark = pytest.mark.django_db(transaction=True)

Order = Callable[..., dict[str, Any]]
Call = Callable[[], requests.Response]

MANY = 20  # more than the process' 16 threads
PATIENCE = 4.0  # seconds: longer than a response takes on a busy machine, far below the time-outs
SLOW = 60.0


@dataclass
class Silent:
    """A server that accepts connections and sends nothing until it is closed."""

    server: socket.socket

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.getsockname()[1]}/"


@pytest.fixture
def silent() -> Iterator[Silent]:
    with closing(socket.create_server(("127.0.0.1", 0), backlog=200)) as server:
        yield Silent(server)


@pytest.fixture(scope="module")
def service(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    running = Service(tmp_path_factory.mktemp("web") / "web.log")
    try:
        yield running
    finally:
        running.process.kill()


def call_while_many_wait(slow: Call, fast: dict[str, Call], silent: Silent) -> list[requests.Response]:
    """Check that fast calls return while many slow ones wait; return the slow calls' responses."""
    with ThreadPoolExecutor(MANY) as callers:
        waiting = [callers.submit(slow) for _ in range(MANY)]
        try:
            # When the others hold all waiting places, the rejected calls get their responses.
            eventually(
                lambda: sum(each.done() for each in waiting) >= MANY - MAX_WAITING, "some were refused"
            )
            for name, call in fast.items():
                began = time.monotonic()
                response = call()
                took = time.monotonic() - began
                assert took < PATIENCE, f"{name} took {took:.1f} s"
                assert response.status_code in (200, 201) or name == "readyz", (name, response.content)
            assert not all(each.done() for each in waiting), "nothing waits any more"
        finally:
            silent.server.close()  # ends the calls that wait for it
        return [each.result() for each in waiting]


@pytest.fixture
def fast(service: Service, api_key: tuple[ApiKey, str], order: Order) -> dict[str, Call]:
    """Calls that need only the database."""
    headers = {"X-API-Key": api_key[1]}
    created = requests.post(service.url + CREATE, json=order(), headers=headers, timeout=SLOW).json()
    return {
        "create": lambda: requests.post(service.url + CREATE, json=order(), headers=headers, timeout=SLOW),
        "get": lambda: requests.get(f"{service.url}{CREATE}/{created['id']}", headers=headers, timeout=SLOW),
        "page": lambda: requests.get(f"{service.url}/pay/{created['shortcode']}", timeout=SLOW),
        "readyz": lambda: requests.get(service.url + "/readyz", timeout=SLOW),
    }


def test_hanging_receiver_of_test_events_delays_no_other_call(
    api: Api, service: Service, api_key: tuple[ApiKey, str], fast: dict[str, Call], silent: Silent
) -> None:
    api.put("/api/webhooks", {"url": silent.url})
    headers = {"X-API-Key": api_key[1]}
    sent = call_while_many_wait(
        lambda: requests.post(service.url + "/api/webhooks/test", json={}, headers=headers, timeout=SLOW),
        fast,
        silent,
    )
    assert {answer.status_code for answer in sent} == {200, 503}
    refused = [answer for answer in sent if answer.status_code == 503]
    assert all(answer.json()["error"]["code"] == "service_unavailable" for answer in refused)
    assert all(int(answer.headers["Retry-After"]) >= 1 for answer in refused)


def test_hanging_node_delays_no_other_call(
    service: Service, fast: dict[str, Call], usdc: Token, silent: Silent
) -> None:
    request = PaymentRequest.objects.get()
    route = Route.objects.create(
        request=request,
        wallet_address="0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
        chain=request.chain,
        token=request.token,
        amount=request.amount,
        expires_at=timezone.now() + timedelta(minutes=5),
    )
    Chain.objects.filter(pk=request.chain_id).update(rpc_urls=[silent.url])
    built = call_while_many_wait(
        lambda: requests.post(
            service.url + "/api/public/build-transaction", json={"route_id": route.id}, timeout=SLOW
        ),
        fast,
        silent,
    )
    assert {answer.status_code for answer in built} == {503}
    assert {answer.json()["error"]["code"] for answer in built} == {"node_unavailable"}
    assert all(int(answer.headers["Retry-After"]) >= 1 for answer in built)
