"""The commands of the guides work unchanged, one after another, with the running service."""

import json
import os
import subprocess
from typing import Any

import pytest
from pytest_django.live_server_helper import LiveServer

from chains.models import Chain, Token
from merchants.models import ApiKey
from payments.models import PaymentRequest
from tests.conftest import Api
from tests.support.docs.pages import REPOSITORY, samples
from tests.support.rates.exchanges import Exchanges

pytestmark = pytest.mark.django_db(transaction=True)

FIRST_PAYMENT = REPOSITORY / "docs" / "first-payment.md"
REFUNDS = REPOSITORY / "docs" / "refunds.md"
PRICES = REPOSITORY / "docs" / "prices.md"
HOME = REPOSITORY / "docs" / "index.md"
WALLET = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"


@pytest.fixture
def local_usdc() -> Token:
    """USDC on the chain of `make run`. It has no node, because the simulation needs none."""
    chain = Chain.objects.create(id=31337, name="Local Chain", chain_type="evm", native_symbol="ETH")
    address = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
    return Token.objects.create(
        chain=chain, symbol="USDC", name="USD Coin", decimals=6, contract_address=address
    )


def _run(program: str, live_server: LiveServer, key: str, token: Token) -> list[Any]:
    """Return the JSON values that the program prints."""
    given = {
        "QUITTANCE_BASE_URL": live_server.url,
        "QUITTANCE_API_KEY": key,
        "TOKEN_ID": str(token.pk),
        "CHAIN_ID": str(token.chain_id),
        "WALLET": WALLET,
        "no_proxy": "*",
    }
    done = subprocess.run(
        ["bash", "-euc", program], env={**os.environ, **given}, capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_the_first_payment_is_created_paid_and_read_back(
    live_server: LiveServer, api_key: tuple[ApiKey, str], local_usdc: Token
) -> None:
    program = "\n".join(samples(FIRST_PAYMENT, "bash"))
    chains, tokens, created, paid, read, events = _run(program, live_server, api_key[1], local_usdc)
    assert [chain["id"] for chain in chains] == [31337]
    assert [token["symbol"] for token in tokens] == ["USDC"]
    assert (created["status"], created["amount"]["raw"]) == ("active", "12500000")
    assert paid["status"] == read["status"] == "completed"
    assert [event["data"]["object"]["reference"] for event in events["data"]] == ["order-1001"]


def test_sample_of_the_prices_page_creates_a_euro_request(
    live_server: LiveServer, api_key: tuple[ApiKey, str], usdc: Token, exchanges: Exchanges
) -> None:
    creating, listing = samples(PRICES, "bash")
    (created,) = _run(creating, live_server, api_key[1], usdc)
    (currencies,) = _run(listing, live_server, api_key[1], usdc)
    assert created["price"] == {"currency": "EUR", "amount": "25.00"}
    assert created["rate"]["sources"] == ["coinbase", "kraken"]
    assert {each["code"]: each["is_available"] for each in currencies}["EUR"] is True


def test_sample_of_the_refunds_page_refunds_a_part(
    live_server: LiveServer, api_key: tuple[ApiKey, str], local_usdc: Token, settings: Any
) -> None:
    settings.ENVIRONMENT = "staging"
    api = Api(api_key[1])
    order = {"amount": "12.50", "token_id": local_usdc.pk, "chain_id": 31337, "recipient_address": WALLET}
    paid = api.post("/api/payment-requests", order).json()["id"]
    assert api.post(f"/api/test/payment-requests/{paid}/simulate", {"outcome": "paid"}).status_code == 200
    program, changing = samples(REFUNDS, "bash")
    (refund,) = _run(f"PAYMENT_REQUEST={paid}\n{program}", live_server, api_key[1], local_usdc)
    assert (refund["status"], refund["amount"]["raw"]) == ("requires_address", "2500000")
    (changed,) = _run(f"REFUND={refund['id']}\n{changing}", live_server, api_key[1], local_usdc)
    assert (changed["id"], changed["status"]) == (refund["id"], "ready")


def test_sample_of_the_first_page_creates_a_request(
    live_server: LiveServer, api_key: tuple[ApiKey, str], local_usdc: Token
) -> None:
    (program,) = samples(HOME, "bash")
    # Ids differ between deployments. The guide explains this after the command.
    _run(
        program.replace('"token_id": 2', f'"token_id": {local_usdc.pk}'), live_server, api_key[1], local_usdc
    )
    assert PaymentRequest.objects.get().external_id == "order-1001"
