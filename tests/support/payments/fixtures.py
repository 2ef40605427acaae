"""Fixtures that create and pay requests."""

from collections.abc import Callable
from typing import Any

import pytest

from chains.models import Token
from merchants.models import Merchant
from payments.models import PaymentRequest
from tests.chain import LocalChain
from tests.support.payments.world import make_request, pay


@pytest.fixture
def request_for(merchant: Merchant, usdc: Token, local_chain: LocalChain) -> Callable[..., PaymentRequest]:
    """Return a function that creates requests for Alice, by default of 10 USDC."""

    def make(amount: str = "10", token: Token | None = None, **different: Any) -> PaymentRequest:
        return make_request(merchant, token or usdc, amount, local_chain.recipient, **different)

    return make


@pytest.fixture
def paying(local_chain: LocalChain) -> Callable[..., str]:
    """Return a function that pays a request on the chain, with its reference. The amount is in base units."""

    def send(request: PaymentRequest, amount: int | None = None) -> str:
        return pay(local_chain, request, amount)

    return send
