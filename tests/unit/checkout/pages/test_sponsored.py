"""The page loads code for sponsored payments only if one is possible or exists. It shows the payment's progress."""

import json
import re
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client

from chains.models import Token
from checkout.api.progress import is_under_way, warning_for
from merchants.models import Merchant
from payments.models import Payment, PaymentRequest
from tests.support.payments.rows import new_payment
from tests.support.payments.sponsoring import RULES
from tests.support.payments.world import make_request

RECIPIENT = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
HASH = "0x" + "ab" * 32
SCRIPT = "/static/checkout/sponsored.js"


@pytest.fixture
def request_(merchant: Merchant, usdc: Token, settings: Any) -> PaymentRequest:
    settings.SPONSOR_KEYS = {"evm": "0x" + "11" * 32}
    settings.SPONSOR_DAILY_BUDGET = {usdc.chain_id: Decimal(1)}
    Token.objects.filter(pk=usdc.pk).update(authorization=RULES)
    usdc.refresh_from_db()
    return make_request(merchant, usdc, "10.5", RECIPIENT)


def page(request: PaymentRequest, query: str = "") -> str:
    return Client().get(f"/pay/{request.shortcode}{query}").content.decode()


def messages_of(text: str) -> dict[str, str]:
    [found] = re.findall(r'<script id="messages-data" type="application/json">(.+?)</script>', text)
    messages: dict[str, str] = json.loads(found)
    return messages


def sponsored(request: PaymentRequest, **columns: Any) -> Payment:
    """Store a signed payment that has not been sent."""
    usual = {"chain": request.chain, "transaction_hash": None, "is_sponsored": True, "is_bound_unmined": True}
    return new_payment(request=request, **{**usual, "bound_by": "authorization", **columns})


def test_page_of_sponsorable_request_names_the_script(request_: PaymentRequest) -> None:
    text = page(request_)
    assert f'data-sponsored="{SCRIPT}"' in text
    assert "sponsored.help" in messages_of(text)
    [imported] = re.findall(r'type="importmap">(.+?)</script>', text)
    assert SCRIPT in json.loads(imported)["integrity"]


@pytest.mark.parametrize("off", ["merchant", "key", "token", "references"])
def test_page_without_sponsoring_has_nothing_of_it(request_: PaymentRequest, settings: Any, off: str) -> None:
    if off == "merchant":
        Merchant.objects.update(sponsored_payments=False)
    elif off == "key":
        settings.SPONSOR_KEYS = {}
    elif off == "token":
        Token.objects.update(authorization=None)
    else:
        PaymentRequest.objects.update(references=False)
    for query in ("", "?lang=de"):
        text = page(request_, query)
        assert "sponsored.js" not in text
        assert not [key for key in messages_of(text) if "sponsor" in key or "authorization" in key]


def test_signed_payment_keeps_words_after_switching_off(request_: PaymentRequest, settings: Any) -> None:
    sponsored(request_)
    settings.SPONSOR_KEYS = {}
    assert "sponsored.beingSent" in messages_of(page(request_))


def test_signed_payment_is_being_sent_on_a_page_without_scripts(request_: PaymentRequest) -> None:
    sponsored(request_, status_detail="Signed; the transfer is being sent.")
    text = page(request_)
    panel = text[text.index('id="panel"') : text.index('id="connection"')]
    assert 'data-state="processing"' in text
    assert "Being sent" in panel
    assert "None" not in panel
    assert panel.count("step--done") == 1  # signed
    assert "View on the block explorer" not in panel


def test_sent_payment_shows_its_hash_on_a_page_without_scripts(request_: PaymentRequest) -> None:
    sponsored(request_, transaction_hash=HASH)
    text = page(request_)
    assert HASH in text
    assert "Being sent" not in text[: text.index('id="connection"')]


PUBLIC = {
    "status": "pending",
    "is_seen": False,
    "is_bound": True,
    "sponsored": True,
    "is_awaiting_signers": False,
    "failure_code": None,
    "likely_failure": None,
}


@pytest.mark.parametrize(
    ("change", "expected", "warning"),
    [
        ({}, True, None),
        ({"status": "processing"}, True, None),
        ({"sponsored": False}, False, "unbound"),
        ({"status": "failed", "failure_code": "authorization_expired"}, False, "unpaid"),
        ({"likely_failure": "transaction_reverted"}, False, "unpaid"),
    ],
)
def test_signed_payment_is_under_way_before_a_node_has_seen_it(
    change: dict[str, Any], expected: bool, warning: str | None
) -> None:
    payment = {**PUBLIC, **change}
    assert is_under_way(payment) is expected
    assert warning_for(payment) == warning


def test_receipt_names_no_network_fee_of_a_sponsored_payment(request_: PaymentRequest) -> None:
    sponsored(
        request_,
        transaction_hash=HASH,
        status="completed",
        amount_received=10_500_000,
        network_fee=123_456_000_000_000,
        from_address=RECIPIENT,
        completed_at=request_.created_at,
    )
    PaymentRequest.objects.update(
        status="completed", amount_paid=10_500_000, completed_at=request_.created_at
    )
    text = Client().get(f"/pay/{request_.shortcode}/receipt").content.decode()
    assert "<dt>Network fee</dt><dd>None · paid for you</dd>" in text
    assert "0.000123" not in text
    assert HASH in text
