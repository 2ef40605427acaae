"""Wrong amounts, addresses and URLs are rejected with specific codes, and not stored."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from chains.models import Chain, Token
from merchants.models import ApiKey
from tests.support.api.corpora import lines_of, row_counts
from tests.support.api.fixtures import CREATE, error_of

EVM_WALLET = "0x8ba1f109551bD432803012645Ac136ddd64DBA72"
SOLANA_WALLET = "9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM"
AMOUNTS = list(lines_of("amounts.txt"))
URLS = list(lines_of("urls.txt"))
ADDRESSES = list(lines_of("addresses.txt"))
# The framework's messages, which contain neither the value nor the rule.
_FRAMEWORK = (
    "Ensure ",
    "This field",
    "Not a valid",
    "valid integer",
    "valid boolean",
    "Expected a",
    "Invalid ",
)

Send = Callable[..., Any]


@pytest.fixture
def tokens(db: None) -> dict[str, Token]:
    """Tokens on chains without nodes. No test here may call a chain."""
    evm = Chain.objects.create(id=8453, name="Base", chain_type="evm", native_symbol="ETH")
    solana = Chain.objects.create(
        id=1151111081099710, name="Solana", chain_type="solana", native_symbol="SOL"
    )

    def token(chain: Chain, symbol: str, decimals: int, address: str) -> Token:
        fields = {"symbol": symbol, "name": symbol, "decimals": decimals, "contract_address": address}
        return Token.objects.create(chain=chain, **fields)

    return {
        "usdc": token(evm, "USDC", 6, "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"),
        "whole": token(evm, "TICKET", 0, "0x9fB83c0635De2E815fd1c21b3a292277540C2e8d"),
        "sol": token(solana, "SOL", 9, ""),
        "evm": token(evm, "ETH", 18, ""),
        "solana": token(solana, "USDC", 6, "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"),
    }


@pytest.fixture
def send(api_key: tuple[ApiKey, str]) -> Send:
    """Return a function that sends a JSON object. Its values are JSON texts, so that a value can be any text."""
    client = Client(raise_request_exception=False)

    def call(path: str, values: dict[str, str], method: str = "POST") -> Any:
        body = "{" + ",".join(f"{json.dumps(name)}:{text}" for name, text in values.items()) + "}"
        return client.generic(
            method,
            path,
            data=body.encode("utf-8", "surrogatepass"),
            content_type="application/json",
            headers={"X-API-Key": api_key[1]},
        )

    return call


def order(token: Token) -> dict[str, str]:
    wallet = SOLANA_WALLET if token.chain.chain_type == "solana" else EVM_WALLET
    values = {"amount": "1", "token_id": token.pk, "chain_id": token.chain_id, "recipient_address": wallet}
    return {name: json.dumps(value) for name, value in values.items()}


def require_rejection(response: Any, code: str, param: str, line: str) -> None:
    assert response.status_code == 400, line
    error = error_of(response)
    expected = (code, None if code == "invalid_json" else param)
    assert (error["code"], error["param"]) == expected, line
    assert not error["message"].startswith(_FRAMEWORK), error["message"]


def test_order_without_a_bad_value_is_created(send: Send, tokens: dict[str, Token]) -> None:
    for token in tokens.values():
        assert send(CREATE, order(token)).status_code == 201


def test_bad_amount_is_rejected(send: Send, tokens: dict[str, Token]) -> None:
    before = row_counts()
    for (code, token), line in AMOUNTS:
        response = send(CREATE, {**order(tokens[token]), "amount": line})
        require_rejection(response, code, "amount", line)
    assert row_counts() == before


@pytest.mark.parametrize("field", ["redirect_url", "cancel_url", "webhook_url"])
def test_bad_url_of_a_payment_request_is_rejected(
    send: Send, tokens: dict[str, Token], settings: Any, field: str
) -> None:
    settings.ALLOW_HTTP_URLS = settings.WEBHOOK_ALLOW_PRIVATE = False
    before = row_counts()
    for (code,), line in URLS if field == "webhook_url" else URLS[::20]:
        if code != "url_not_allowed" or field == "webhook_url":
            require_rejection(send(CREATE, {**order(tokens["usdc"]), field: line}), code, field, line)
    assert row_counts() == before


def test_bad_url_of_an_endpoint_is_rejected(send: Send, settings: Any) -> None:
    settings.ALLOW_HTTP_URLS = settings.WEBHOOK_ALLOW_PRIVATE = False
    before = row_counts()
    for (code,), line in URLS[::20]:
        require_rejection(send("/api/webhooks", {"url": line}, "PUT"), code, "url", line)
    assert row_counts() == before


def test_bad_address_of_a_recipient_is_rejected(send: Send, tokens: dict[str, Token]) -> None:
    before = row_counts()
    for (kind, chain), line in ADDRESSES:
        code = "address_invalid" if kind == "unpayable" else kind
        response = send(CREATE, {**order(tokens[chain]), "recipient_address": line})
        require_rejection(response, code, "recipient_address", line)
    assert row_counts() == before


def test_no_bad_address_is_taken_as_a_wallet(send: Send, tokens: dict[str, Token]) -> None:
    ids = {chain: send(CREATE, order(tokens[chain])).json()["id"] for chain in ("evm", "solana")}
    before = row_counts()
    for (code, chain), line in ADDRESSES:
        if code == "unpayable":
            continue
        token = tokens[chain]
        values = {"wallet_address": line, "chain_id": str(token.chain_id), "token_id": str(token.pk)}
        response = send(f"/api/public/payment-requests/{ids[chain]}/routes", values)
        require_rejection(response, code, "wallet_address", line)
    assert row_counts() == before
