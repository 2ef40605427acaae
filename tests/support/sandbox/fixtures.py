"""Requests in every state, on chains that are never queried, for tests of the sandbox."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from chains.models import Chain, Token
from merchants.models import Merchant
from payments.models import PaymentRequest
from payments.requests.lifecycle import cancel_request
from payments.sandbox import Outcome, simulate
from tests.support.payments.world import make_request
from webhooks.models import Delivery, Event

Status = PaymentRequest.Status
AMOUNT = 10_000_000
RECIPIENTS = {
    "evm": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
    "solana": "9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM",
}


@pytest.fixture
def coin(db: None) -> Token:
    """A token on a chain without nodes, so that a query to the chain fails."""
    chain = Chain.objects.create(
        id=8453,
        name="Base",
        chain_type="evm",
        native_symbol="ETH",
        confirmations="5",
        explorer_url="https://scan.example",
    )
    address = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
    return Token.objects.create(
        chain=chain, symbol="USDC", name="USD Coin", decimals=6, contract_address=address
    )


@pytest.fixture
def solana_coin(db: None) -> Token:
    chain = Chain.objects.create(
        id=1151111081099710,
        name="Solana",
        chain_type="solana",
        native_symbol="SOL",
        confirmations="finalized",
    )
    mint = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
    return Token.objects.create(
        chain=chain, symbol="USDC", name="USD Coin", decimals=6, contract_address=mint
    )


def a_request(merchant: Merchant, token: Token, amount: str = "10", **more: Any) -> PaymentRequest:
    return make_request(merchant, token, amount, RECIPIENTS[token.chain.chain_type], **more)


@pytest.fixture
def request_in(merchant: Merchant, coin: Token) -> Callable[[str], PaymentRequest]:
    """Return a function that makes a request of 10 USDC in this state. No event was recorded on its way there."""

    def make(state: str) -> PaymentRequest:
        request = a_request(merchant, coin)
        past = timezone.now() - timedelta(minutes=1)
        if state in ("expired", "overdue"):
            PaymentRequest.objects.filter(pk=request.pk).update(expires_at=past, expiry_check_at=past)
        if state == "expired":
            PaymentRequest.objects.filter(pk=request.pk).update(status=Status.EXPIRED, expired_at=past)
        if state.startswith("cancelled"):
            cancel_request(request.pk, actor="test")
        if state == "completed, for real":
            PaymentRequest.objects.filter(pk=request.pk).update(
                status=Status.COMPLETED, amount_paid=AMOUNT, completed_at=past
            )
        elif state in ("completed", "cancelled, paid"):
            simulate(request.pk, Outcome.PAID, by="test")
        elif state in ("partly paid", "cancelled, partly paid"):
            simulate(request.pk, Outcome.UNDERPAID, by="test")
        request.refresh_from_db()
        Delivery.objects.all().delete()
        Event.objects.all().delete()
        return request

    return make


def recorded_events() -> list[str]:
    """Return the events in order, each with its request's status."""
    bodies = [json.loads(bytes(event.body)) for event in Event.objects.order_by("created")]
    return [f"{body['type']}: {body['data']['object']['request_status']}" for body in bodies]


def path(request: PaymentRequest) -> str:
    return f"/api/test/payment-requests/{request.pk}/simulate"
