"""What the page on testing an integration promises happens: its call works as it stands, and brings those events."""

import os
import re
import subprocess
from collections.abc import Callable

import pytest
from pytest_django.live_server_helper import LiveServer

from chains.models import Chain, Token
from merchants.models import ApiKey, Merchant
from payments.models import PaymentRequest
from payments.sandbox import HASH_PREFIX, Outcome
from tests.conftest import Api
from tests.support.docs.pages import REPOSITORY, samples, table_rows
from tests.support.payments.world import make_request
from webhooks.models import Event

PAGE = REPOSITORY / "docs" / "testing-your-integration.md"
# The first table: outcome, what happens, events.
ACTIVE = {row[0].strip("`"): row[1:] for row in table_rows(PAGE) if len(row) == 3 and row[0].startswith("`")}


@pytest.fixture
def ask(merchant: Merchant) -> Callable[[], PaymentRequest]:
    """Return a maker of active requests on a chain without nodes."""

    def make() -> PaymentRequest:
        chain = Chain.objects.create(id=8453, name="Base", chain_type="evm", native_symbol="ETH")
        address = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
        token = Token.objects.create(
            chain=chain, symbol="USDC", name="USD Coin", decimals=6, contract_address=address
        )
        return make_request(merchant, token, "10", "0x70997970C51812dc3A010C7d01b50e0d17dc79C8")

    return make


def test_the_page_has_all_outcomes() -> None:
    assert ACTIVE.keys() == set(Outcome)


@pytest.mark.parametrize("outcome", Outcome)
def test_an_outcome_sends_the_events_and_leads_to_the_state_that_the_page_names(
    api: Api, ask: Callable[[], PaymentRequest], outcome: Outcome
) -> None:
    happens, events = ACTIVE[outcome]
    body = api.post(f"/api/test/payment-requests/{ask().pk}/simulate", {"outcome": outcome}).json()
    told = list(Event.objects.order_by("created").values_list("type", flat=True))
    assert told == re.findall(r"`([^`]+)`", events)
    assert f"`{body['status']}`" in happens
    assert all(
        f"`{payment['failure_code']}`" in happens for payment in body["payments"] if payment["failed_at"]
    )


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
