"""The payment page offers a deposit address only if the request can have one. The receipt shows payments to it."""

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from chains.models import Token
from chains.switches import Feature
from merchants.models import Merchant
from merchants.switching import switch_off
from payments.models import Payment, PaymentRequest
from tests.support.payments.deposits import give_address
from tests.support.payments.rows import new_payment
from tests.support.payments.world import make_request

WAY = "Send from an exchange or another wallet"
ESSAY = "Manual transfers are not credited immediately."
RECIPIENT = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
HASH = "0x" + "ab" * 32


@pytest.fixture
def request_(merchant: Merchant, usdc: Token) -> PaymentRequest:
    Merchant.objects.filter(pk=merchant.pk).update(deposit_addresses=True)
    merchant.refresh_from_db()
    return make_request(merchant, usdc, "10.5", RECIPIENT)


def page(path: str, status: int = 200) -> str:
    answer = Client().get(path)
    assert answer.status_code == status
    return answer.content.decode()


def pay_path(request: PaymentRequest) -> str:
    return f"/pay/{request.shortcode}"


def test_way_replaces_manual_transfers_where_it_is_on(request_: PaymentRequest) -> None:
    shown = page(pay_path(request_))
    assert WAY in shown
    assert 'id="send-yourself" hidden' in shown
    by_hand = page(f"{pay_path(request_)}/by-hand")
    assert ESSAY not in by_hand
    assert "Transfers to the address on the" in by_hand
    assert ESSAY in page(f"{pay_path(request_)}/by-hand?manual")


@pytest.mark.parametrize("off", ["merchant", "references", "tag", "switch", "inactive"])
def test_way_is_missing_where_no_address_can_be_shown(request_: PaymentRequest, off: str) -> None:
    changes: dict[str, Any] = {
        "merchant": lambda: Merchant.objects.update(deposit_addresses=False),
        "references": lambda: PaymentRequest.objects.update(references=False),
        "tag": lambda: Token.objects.update(tags=["rebasing"]),
        "switch": lambda: switch_off(Feature.DEPOSIT_ADDRESSES, reason="test", request=None),
        "inactive": lambda: Token.objects.update(is_active=False),
    }
    changes[off]()
    shown = page(pay_path(request_))
    assert WAY not in shown
    assert "deposit.network" not in shown


def test_opening_the_page_shows_no_address(request_: PaymentRequest) -> None:
    page(pay_path(request_))
    page(f"{pay_path(request_)}?by=address")
    assert Client().get(f"{pay_path(request_)}/by-address").status_code == 302
    request_.refresh_from_db()
    assert request_.deposit_address is None


def test_unreachable_node_is_said_beside_the_other_ways(request_: PaymentRequest) -> None:
    answer = Client(enforce_csrf_checks=True).post(f"{pay_path(request_)}/by-address")
    assert (answer.status_code, "Retry-After" in answer) == (503, True)
    text = answer.content.decode()
    assert "Local Chain can&#x27;t be reached at the moment." in text
    assert WAY in text
    request_.refresh_from_db()
    assert request_.deposit_address is None


def test_unavailable_address_brings_manual_transfers_back(request_: PaymentRequest) -> None:
    Merchant.objects.update(deposit_addresses=False)
    answer = Client().post(f"{pay_path(request_)}/by-address?lang=de")
    text = answer.content.decode()
    assert answer.status_code == 409
    assert "Für diese Zahlung gibt es zurzeit keine Adresse." in text
    assert 'id="send-yourself"><a' in text


def test_shown_address_is_on_the_page_that_was_chosen(request_: PaymentRequest) -> None:
    address = give_address(request_, 1)
    chosen = page(f"{pay_path(request_)}?by=address&lang=de")
    assert f'id="deposit-address" translate="no">{address}<' in chosen
    assert f'content="15; url={pay_path(request_)}?by=address&amp;lang=de"' in chosen
    assert "?still&amp;by=address&amp;lang=de" in chosen
    assert 'id="deposit-address"' not in page(pay_path(request_))


@pytest.mark.parametrize("status", ["expired", "cancelled", "completed"])
def test_ended_request_shows_no_address_to_send_to(request_: PaymentRequest, status: str) -> None:
    give_address(request_, 1)
    paid = {"amount_paid": 10_500_000} if status == "completed" else {}
    PaymentRequest.objects.update(status=status, **paid, **{f"{status}_at": timezone.now()})
    shown = page(f"{pay_path(request_)}?by=address")
    assert 'id="deposit-address"' not in shown
    assert ('<p class="help">Have you sent it already?' in shown) == (status == "expired")


@pytest.mark.django_db
def test_unknown_code_has_no_address() -> None:
    assert Client().post("/pay/aaaaaaaaaaaa/by-address").status_code == 404


def test_receipt_of_a_payment_by_address_names_the_address(request_: PaymentRequest) -> None:
    address = give_address(request_, 1)
    now = timezone.now()
    paid = {"status": "completed", "amount_received": 10_500_000, "bound_by": "address", "completed_at": now}
    new_payment(request=request_, chain=request_.chain, transaction_hash=HASH, **paid)
    PaymentRequest.objects.update(status="completed", amount_paid=10_500_000, completed_at=now)
    receipt = page(f"{pay_path(request_)}/receipt")
    assert f'<dt>Sent to</dt><dd><code class="address" translate="no">{address}<' in receipt
    assert f'to <code class="short" title="{address}"' in receipt
    assert HASH in receipt
    Payment.objects.update(transaction_hash="")
    without_hash = page(f"{pay_path(request_)}/receipt")
    assert f'look up address <code class="short" title="{address}"' in without_hash
    assert "Transaction on" not in without_hash
    assert "None" not in without_hash
