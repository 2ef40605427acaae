"""Customers with requests on either EVM chain."""

from collections.abc import Callable
from typing import Any

import pytest

from chains.models import Token
from demo.aggregator.contracts import ROUTER
from merchants.models import Merchant
from tests.chain import RECIPIENT
from tests.conftest import Api
from tests.support.payments.world import Clock
from tests.support.swaps.paying import Customer
from tests.support.swaps.scripted import PINNED, Script, Scripted
from tests.support.swaps.world import SwapWorld

NewCustomer = Callable[..., Customer]


@pytest.fixture
def new_customer(api: Api, public: Api, swap_world: SwapWorld) -> NewCustomer:
    """Return a function that creates a request for a token and returns its customer."""

    def create(
        token: Token,
        amount: str = "10.50",
        wallet: str | None = None,
        recipient: str = RECIPIENT,
        **different: Any,
    ) -> Customer:
        order = {
            "amount": amount,
            "token_id": token.pk,
            "chain_id": token.chain_id,
            "recipient_address": recipient,
            **different,
        }
        response = api.post("/api/payment-requests", order)
        assert response.status_code == 201, response.content
        return Customer(public, response.json(), wallet or swap_world.first.payer)

    return create


@pytest.fixture
def scripted(swap_world: SwapWorld, merchant: Merchant) -> Scripted:
    """Swaps whose provider returns the test's scripted responses."""
    swap_world.first_row.routers = {"lifi": [PINNED, ROUTER], "relay": []}
    swap_world.first_row.save(update_fields=["routers"])
    return Scripted(swap_world, merchant, Script(), Clock())
