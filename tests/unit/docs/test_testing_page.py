"""The page about testing an integration is true: its call works, and each row of its table happens."""

import os
import re
import subprocess
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django.live_server_helper import LiveServer

from chains.models import Chain, Token
from merchants.models import ApiKey, Merchant
from payments.models import PaymentRequest
from payments.requests.lifecycle import expire_due
from payments.sandbox import HASH_PREFIX, Outcome
from payments.sandbox.due import decide_due
from tests.conftest import Api
from tests.support.docs.pages import REPOSITORY, samples, table_rows
from tests.support.payments.world import make_request
from webhooks.models import Event

PAGE = REPOSITORY / "docs" / "testing-your-integration.md"
# The first table's columns: the case, the calls, the result.
ROWS = [row for row in table_rows(PAGE) if len(row) == 3 and row[2].startswith(("Request", "409"))]
PAGES = {
    "ready to pay": "active",
    "part paid": "partly_paid",
    "on its way": "processing",
    "paid": "completed",
    "expired": "expired",
    "cancelled": "cancelled",
}


@pytest.fixture
def token(db: None) -> Token:
    """A token with a price, on a chain without nodes."""
    chain = Chain.objects.create(id=8453, name="Base", chain_type="evm", native_symbol="ETH")
    address = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
    return Token.objects.create(
        chain=chain,
        symbol="USDC",
        name="USD Coin",
        decimals=6,
        contract_address=address,
        price_as="USDC",
    )


@pytest.fixture
def ask(merchant: Merchant, token: Token) -> Callable[[], PaymentRequest]:
    return lambda: make_request(merchant, token, "10", "0x70997970C51812dc3A010C7d01b50e0d17dc79C8")


def test_the_table_has_all_outcomes() -> None:
    calls = {call for row in ROWS for call in re.findall(r"`([^`]+)`", row[1])}
    assert {call for call in calls if not call.startswith("POST")} == set(Outcome)


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_each_row_of_the_table_happens(
    api: Api, client: Client, ask: Callable[[], PaymentRequest], row: list[str]
) -> None:
    _, calls, happens = row
    request = ask()
    for call in calls.split(", then "):
        answer = make_call(api, request, call.strip("`"))
    if refused := re.match(r"(\d+) `(\w+)`", happens):
        error = (str(answer.status_code), answer.json()["error"]["code"])
        assert error == refused.groups()
    else:
        assert answer.status_code == 200
    body = api.get(f"/api/payment-requests/{request.pk}").json()
    assert body["status"] == named("[Rr]equest", happens)
    if status := named("payment", happens):
        payment = body["payments"][0]
        assert (payment["status"], payment["failure_code"]) == (status, in_brackets("payment", happens))
        assert ("with `reorged`" in happens) == payment["reorged"]
        assert ("`replaced_hashes`" in happens) == bool(payment["replaced_hashes"])
    if status := named("refund", happens):
        refund, detail = body["refunds"][0], in_brackets("refund", happens)
        assert refund["status"] == status
        assert detail in (None, refund["failure_code"], refund["address_source"])
    shown = re.search(r'data-state="(\w+)"', client.get(f"/pay/{request.shortcode}").content.decode())
    page = re.search(r"Page: ([^.]+)\.", happens)
    assert shown
    assert page
    assert shown[1] == PAGES[page[1]]
    events = re.findall(r"`([^`]+)`", happens.partition("Events:")[2])
    assert list(Event.objects.order_by("created").values_list("type", flat=True)) == events
    assert bool(events) != happens.endswith("No event.")


def make_call(api: Api, request: PaymentRequest, call: str) -> Any:
    """Make one call of a row; run the workers as they would run within seconds."""
    if call == "24 hours":
        later = timezone.now() + timedelta(hours=24, seconds=1)
        decide_due(now=lambda: later)
        expire_due(later)
        return api.get(f"/api/payment-requests/{request.pk}")
    if call.startswith("POST"):
        payment = request.payments.order_by("-created_at").first()
        path = call.removeprefix("POST ").replace("…", f"/api/payment-requests/{request.pk}")
        path = path.replace("{payment_id}", payment.pk if payment else "")
        answer = api.post(path, {"reason": "The customer sent it."} if path.endswith("/accept") else {})
    else:
        answer = api.post(f"/api/test/payment-requests/{request.pk}/simulate", {"outcome": call})
    decide_due()
    return answer


def named(what: str, happens: str) -> str | None:
    """Return the object's status in the text."""
    found = re.search(rf"\b{what} `(\w+)`", happens)
    return found and found[1]


def in_brackets(what: str, happens: str) -> str | None:
    """Return the code in brackets after the object's status."""
    found = re.search(rf"\b{what} `\w+` \(`(\w+)`\)", happens)
    return found and found[1]


def test_metadata_of_the_page_makes_the_rate_unavailable(api: Api, token: Token) -> None:
    (metadata,) = re.findall(r'`"metadata": (\{[^`]+\})`', PAGE.read_text())
    assert metadata == '{"simulate": "rate_unavailable"}'
    order = {
        "price": {"currency": "USD", "amount": "10.00"},
        "token_id": token.pk,
        "chain_id": token.chain_id,
        "recipient_address": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
        "metadata": {"simulate": "rate_unavailable"},
    }
    answer = api.post("/api/payment-requests", order)
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "rate_unavailable")
    assert "Simulated" in answer.json()["error"]["message"]
    assert answer["Retry-After"]
    assert not PaymentRequest.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_the_curl_sample_works_as_it_stands(
    live_server: LiveServer, api_key: tuple[ApiKey, str], ask: Callable[[], PaymentRequest]
) -> None:
    request = ask()
    (program,) = samples(PAGE, "sh")
    told = {
        "QUITTANCE_BASE_URL": live_server.url,
        "QUITTANCE_API_KEY": api_key[1],
        "ID": str(request.pk),
        "no_proxy": "*",
    }
    done = subprocess.run(
        ["bash", "-euc", program], env={**os.environ, **told}, capture_output=True, text=True
    )
    request.refresh_from_db()
    assert request.amount_paid == 5_000_000, done.stdout + done.stderr


def test_the_page_names_the_bytes_that_mark_a_simulated_hash() -> None:
    assert f'`0x{HASH_PREFIX.hex()}` ("{HASH_PREFIX.decode()}";' in PAGE.read_text()
