"""Requests and payments for the portal's tests. They need no running chain."""

import html
import re
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.contrib import admin
from django.contrib.admin.utils import quote
from django.db import transaction
from django.db.models import Model
from django.http import HttpRequest
from django.test import Client
from django.utils import timezone

from chains.models import Chain, Token
from merchants.models import Merchant
from payments.models import ConsumedTransfer, Payment, PaymentRequest
from payments.requests.creation import NewRequest, create_request
from payments.requests.transitions import move_payment
from payments.submission.hashes import submit_hash

RECIPIENT = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
SENDER = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
HASH = "0x" + "ab" * 32
Make = Callable[..., PaymentRequest]
Press = Callable[..., str]


@pytest.fixture
def token(db: None) -> Token:
    """A token that needs no running chain."""
    chain = Chain.objects.create(
        id=8453, name="Base", chain_type="evm", native_symbol="ETH", explorer_url="https://basescan.example"
    )
    return Token.objects.create(
        chain=chain, symbol="USDC", name="USD Coin", decimals=6, contract_address="0x" + "1" * 40
    )


@pytest.fixture
def make(merchant: Merchant, token: Token) -> Make:
    """Return a function that creates requests of 10.50 USDC, by default for Alice."""

    def create(external_id: str | None = None, owner: Merchant | None = None, **more: str) -> PaymentRequest:
        order = NewRequest(
            token=token,
            amount=10_500_000,
            recipient_address=RECIPIENT,
            lifetime=timedelta(hours=1),
            external_id=external_id,
            **more,  # type: ignore[arg-type]
        )
        return create_request(owner or merchant, order, actor="test")

    return create


def fail(
    request: PaymentRequest, transaction_hash: str = HASH, code: str = "transaction_not_found"
) -> Payment:
    """Return a failed payment of `request`."""
    payment, _ = submit_hash(
        request, chain=request.chain, transaction_hash=transaction_hash, actor="checkout"
    )
    with transaction.atomic():
        moved = move_payment(
            payment,
            Payment.Status.FAILED,
            actor="verification",
            reason=code,
            failure_code=code,
            failure_message="The network does not know this transaction.",
            failed_at=timezone.now(),
            from_address=SENDER,
        )
    assert moved
    return payment


@pytest.fixture
def failed(make: Make) -> Payment:
    """A payment whose transaction was not found."""
    return fail(make())


@pytest.fixture
def credited(failed: Payment) -> ConsumedTransfer:
    return ConsumedTransfer.objects.create(
        chain=failed.chain, transaction_hash=failed.transaction_hash, slot="7", payment=failed, amount=5
    )


def page_of(client: Client, model: str, pk: object = "", **search: str) -> str:
    """Return a portal page as text: a list, or the page of one object."""
    path = f"/admin/{model}/" + (f"{quote(pk)}/change/" if pk else "")
    response = client.get(path, search)
    assert response.status_code == 200
    return str(response.content.decode())


def found(model: type[Model], text: str) -> set[object]:
    """Return the ids of the rows that the portal's search finds for `text`, without rendering the page."""
    rows, _ = admin.site._registry[model].get_search_results(
        HttpRequest(), model._default_manager.all(), text
    )
    return set(rows.values_list("pk", flat=True))


def asked(client: Client, url: str) -> dict[str, str]:
    """Open a page with a form and return its hidden field `seen`, which a browser posts with the form."""
    page = client.get(url)
    assert page.status_code == 200, page
    (seen,) = re.findall(r'<input type="hidden" name="seen"(?: value="([^"]*)")?', page.content.decode())
    return {"seen": html.unescape(seen)}


def press(client: Client, url: str, **answer: str) -> str:
    """Open the confirmation page, press its button, and return the next page as text."""
    done = client.post(url, {**asked(client, url), **answer}, follow=True)
    assert done.status_code == 200
    return str(done.content.decode())
