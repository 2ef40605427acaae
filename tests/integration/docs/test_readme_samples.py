"""The samples of the README work: each is extracted from the page and run."""

import json
import os
import runpy
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import requests
from flask import Flask
from pytest_django.live_server_helper import LiveServer
from werkzeug.serving import make_server

from chains.models import Token
from merchants.models import ApiKey, Merchant
from payments.models import PaymentRequest
from tests.chain import LocalChain
from tests.loopback import serving
from tests.support.docs.pages import README, sample_with
from tests.support.payments.world import Clock, look_until_decided, make_request, pay, submit
from tests.support.webhooks.delivering import deliver_next
from webhooks.dispatch.signing import sign
from webhooks.models import Delivery, Event

pytestmark = pytest.mark.django_db(transaction=True)

PATH = "/webhooks/quittance"


@pytest.fixture
def settled(
    live_server: LiveServer,
    api_key: tuple[ApiKey, str],
    usdc: Token,
    local_chain: LocalChain,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> dict[str, str]:
    """The environment variables that the page has the reader set."""
    environment = {
        "QUITTANCE_BASE_URL": live_server.url,
        "QUITTANCE_API_KEY": api_key[1],
        "CHAIN_ID": str(usdc.chain_id),
        "TOKEN_ID": str(usdc.id),
        "WALLET": local_chain.recipient,
        "ORDERS": str(tmp_path / "orders.sqlite3"),
        "WEBHOOK_SECRET": "",
        "WEBHOOK_URL": "",
    }
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    return environment


@pytest.fixture
def shop(settled: dict[str, str], tmp_path: Path) -> Iterator[str]:
    """The sample receiver on localhost, with the page's database tables; its webhook URL."""
    (tmp_path / "tables.sql").write_text(sample_with(README, "sql", "seen_events"))
    (command,) = [
        line for line in sample_with(README, "sh", "tables.sql").splitlines() if "tables.sql" in line
    ]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(["bash", "-euc", command], cwd=tmp_path, env={**os.environ, "PATH": path}, check=True)
    with closing(_orders()) as database, database:
        database.execute("INSERT INTO orders VALUES ('test-order', 'open')")
    program = tmp_path / "receive.py"
    program.write_text(sample_with(README, "python", "def verify"))
    app: Flask = runpy.run_path(str(program))["app"]
    with serving(make_server("127.0.0.1", 0, app, threaded=True)) as url:
        yield url + PATH


@pytest.fixture
def configured(shop: str, settled: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> str:
    """The shop's webhook URL, registered as the endpoint. Its secret is in the environment."""
    response = _call("PUT", "/api/webhooks", {"url": shop})
    monkeypatch.setenv("WEBHOOK_SECRET", response["secret"])
    return shop


def test_curl_sample_creates_a_request_and_reads_it(configured: str, settled: dict[str, str]) -> None:
    program = sample_with(README, "bash", "/api/payment-requests")
    done = subprocess.run(
        ["bash", "-euc", program],
        env={**os.environ, "WEBHOOK_URL": configured, "no_proxy": "*"},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    chains, tokens, endpoint, created, read, sent = [json.loads(line) for line in done.stdout.splitlines()]
    assert [chain["id"] for chain in chains] == [int(settled["CHAIN_ID"])]
    assert [token["symbol"] for token in tokens] == ["USDC"]
    assert endpoint["secret"].startswith("whsec_")
    assert created["amount"] == {"raw": "12500000", "formatted": "12.500000", "decimals": 6}
    assert created["payment_url"].endswith(f"/pay/{created['shortcode']}")
    assert (read["id"], read["status"], read["payments"]) == (created["id"], "active", [])
    assert (sent["delivered"], sent["status_code"]) == (True, 200)


def test_python_sample_returns_the_checkout_page(settled: dict[str, str], tmp_path: Path) -> None:
    program = tmp_path / "ask.py"
    program.write_text(sample_with(README, "python", "def ask_for_payment"))
    page = runpy.run_path(str(program))["ask_for_payment"]("order-1001", "12.50")
    made = PaymentRequest.objects.get()
    assert page.endswith(f"/pay/{made.shortcode}")
    assert (made.amount, made.external_id) == (12_500_000, "order-1001")


def test_receiver_marks_an_order_paid_after_the_payment(
    configured: str, merchant: Merchant, usdc: Token, local_chain: LocalChain
) -> None:
    request = make_request(merchant, usdc, "12.5", local_chain.recipient, external_id="order-1001")
    look_until_decided(submit(request, pay(local_chain, request)), Clock())
    assert _order("order-1001") == "open"
    assert deliver_next()
    assert Delivery.objects.get().status == "delivered"
    assert _order("order-1001") == "paid"


def test_receiver_handles_a_repeated_event_once(
    configured: str, merchant: Merchant, usdc: Token, local_chain: LocalChain
) -> None:
    request = make_request(merchant, usdc, "1", local_chain.recipient, external_id="order-1001")
    look_until_decided(submit(request, pay(local_chain, request)), Clock())
    deliver_next()
    with closing(_orders()) as database, database:
        database.execute("UPDATE orders SET status = 'sent'")
    again = _deliver(configured, bytes(Event.objects.get().body))
    assert again.status_code == 200
    assert _order("order-1001") == "sent"


def test_receiver_takes_a_test_event_for_no_payment(configured: str) -> None:
    sent = _call("POST", "/api/webhooks/test")
    assert (sent["delivered"], sent["status_code"]) == (True, 200)
    assert (_order("test-order"), _seen()) == ("open", 1)


SUCCESS = (
    b'{"id":"evt_1","type":"payment.succeeded","created":1,"data":{"object":{"reference":"order-1001"}}}'
)


@pytest.mark.parametrize("age", [301, -302], ids=["old", "from the future"])
def test_receiver_rejects_a_signature_of_another_time(configured: str, age: int) -> None:
    assert _deliver(configured, SUCCESS, timestamp=int(time.time()) - age).status_code == 400
    assert (_order("order-1001"), _seen()) == ("open", 0)


@pytest.mark.parametrize(
    "break_it",
    [
        lambda header: "nonsense",
        lambda header: header[:-1] + ("0" if header[-1] != "0" else "1"),
        lambda header: header + "\u00e9",
    ],
    ids=["nonsense", "one digit off", "not ASCII"],
)
def test_receiver_rejects_an_unsigned_body(configured: str, break_it: Callable[[str], str]) -> None:
    header = break_it(_signature(SUCCESS, int(time.time())))
    response = requests.post(
        configured, SUCCESS, headers={"Service-Signature": header.encode("latin-1")}, timeout=10
    )
    assert response.status_code == 400
    assert (_order("order-1001"), _seen()) == ("open", 0)


def test_receiver_rejects_a_body_printed_again(configured: str) -> None:
    signature = _signature(SUCCESS, int(time.time()))
    printed_again = json.dumps(json.loads(SUCCESS)).encode()
    headers = {"Service-Signature": signature}
    assert requests.post(configured, printed_again, headers=headers, timeout=10).status_code == 400
    assert requests.post(configured, SUCCESS, headers=headers, timeout=10).status_code == 200
    assert _order("order-1001") == "paid"


def test_receiver_accepts_either_secret_during_rotation(configured: str) -> None:
    _call("PUT", "/api/webhooks", {"url": configured, "rotate_secret": True})
    sent = _call("POST", "/api/webhooks/test")
    assert (sent["delivered"], _seen()) == (True, 1)


def _signature(body: bytes, timestamp: int) -> str:
    return sign([os.environ["WEBHOOK_SECRET"]], timestamp, body)


def _deliver(url: str, body: bytes, timestamp: int | None = None) -> requests.Response:
    signature = _signature(body, int(time.time()) if timestamp is None else timestamp)
    return requests.post(url, body, headers={"Service-Signature": signature}, timeout=10)


def _call(method: str, path: str, body: Any = None) -> Any:
    response = requests.request(
        method,
        os.environ["QUITTANCE_BASE_URL"] + path,
        json=body,
        headers={"X-API-Key": os.environ["QUITTANCE_API_KEY"]},
        timeout=15,
    )
    assert response.ok, response.text
    return response.json()


def _orders() -> sqlite3.Connection:
    return sqlite3.connect(os.environ["ORDERS"])


def _order(number: str) -> str:
    with closing(_orders()) as database:
        return str(database.execute("SELECT status FROM orders WHERE id = ?", [number]).fetchone()[0])


def _seen() -> int:
    with closing(_orders()) as database:
        return int(database.execute("SELECT count(*) FROM seen_events").fetchone()[0])
