"""A swap's page shows both sides and the provider's status. Searching for its delivery leads to it."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from chains.models import Chain, Token
from config.admin.portal import change_url
from payments.admin import diagnosis
from payments.attention import Matter, requests_with
from payments.models import ConsumedTransfer, Payment, PaymentRequest, Quote, Route
from tests.support.payments.rows import change
from tests.support.portal.payment_rows import SENDER, Make, fail, found, page_of

DELIVERY = "0x" + "de" * 32
SCAN = "https://scan.li.fi/tx/0x1"


@pytest.fixture
def swap(make: Make) -> Payment:
    """A delivered swap: 0.005 ETH on Ethereum paid 10.52 USDC on Base."""
    request, now = make(), timezone.now()
    ethereum = Chain.objects.create(
        id=1, name="Ethereum", chain_type="evm", native_symbol="ETH", explorer_url="https://etherscan.example"
    )
    ether = Token.objects.create(chain=ethereum, symbol="ETH", name="Ether", decimals=18, contract_address="")
    route = Route.objects.create(
        request=request,
        type="swap",
        wallet_address=SENDER,
        chain=ethereum,
        token=ether,
        amount=5 * 10**15,
        provider="lifi",
        expires_at=now + timedelta(minutes=5),
    )
    quote = Quote.objects.create(
        route=route,
        provider="lifi",
        bound_by=bytes(range(32)),
        amount_in=route.amount,
        amount_out=10_520_000,
        amount_out_min=10_500_000,
        action={},
    )
    payment = fail(request)
    written: dict[str, Any] = {
        "status": "completed",
        "failure_code": "",
        "failure_message": "",
        "type": "swap",
        "chain": ethereum,
        "quote": quote,
        "route": route,
        "bound_by": "provider",
        "token": ether,
        "amount": route.amount,
        "amount_received": 10_520_000,
        "completed_at": now,
    }
    change(payment, **written)
    change(
        payment,
        provider="lifi",
        provider_status="DONE/COMPLETED",
        provider_url=SCAN,
        delivery_hash=DELIVERY,
        delivery_confirmations=9,
        delivery_block_number=77,
        delivery_seen_at=now,
    )
    PaymentRequest.objects.filter(pk=request.pk).update(
        status="completed", amount_paid=10_520_000, completed_at=now
    )
    ConsumedTransfer.objects.create(
        chain=request.chain, transaction_hash=DELIVERY, slot="3", payment=payment, amount=10_520_000
    )
    Chain.objects.filter(pk=request.chain_id).update(confirmations="5")
    return Payment.objects.select_related("request__chain", "request__token").get(pk=payment.pk)


def test_its_page_shows_source_provider_and_destination(admin_client: Client, swap: Payment) -> None:
    page = page_of(admin_client, "payments/payment", swap.pk)
    for told in (
        f"https://etherscan.example/tx/{swap.transaction_hash}",
        f"https://basescan.example/tx/{DELIVERY}",
        SCAN,
        "LI.FI",
        "DONE/COMPLETED",
        "Delivered by",
        "Base, 5 of 5 confirmations",
        "0.005 ETH",
        "10.52 USDC",
        "the routing provider",
    ):
        assert told in page, told


def test_while_nothing_is_verified_the_delivery_is_what_is_said(admin_client: Client, swap: Payment) -> None:
    Payment.objects.filter(pk=swap.pk).update(status="processing", amount_received=None)
    change(swap, delivery_confirmations=0, delivery_block_number=None, delivery_seen_at=None)
    page = page_of(admin_client, "payments/payment", swap.pk)
    assert "Reported delivery" in page
    assert "Base, not seen yet" in page


def test_a_direct_payments_page_says_nothing_of_swaps(admin_client: Client, make: Make) -> None:
    page = page_of(admin_client, "payments/payment", fail(make()).pk)
    assert "Swapped by" not in page
    assert "Reported delivery" not in page


def test_it_is_found_by_its_delivery(swap: Payment) -> None:
    assert found(Payment, DELIVERY.upper()) == {swap.pk}
    assert found(PaymentRequest, DELIVERY) == {swap.request_id}
    assert found(ConsumedTransfer, DELIVERY) == set(swap.consumed_transfers.values_list("pk", flat=True))


def test_the_lists_show_from_where_to_where_it_went(admin_client: Client, swap: Payment) -> None:
    page = page_of(admin_client, "payments/payment")
    assert change_url(swap) in page
    assert "Ethereum → Base" in page


def test_the_little_more_that_a_single_swap_brings_needs_nobody(swap: Payment) -> None:
    request = swap.request
    assert not requests_with(PaymentRequest.objects.all(), Matter.OVERPAID, Payment.objects.all()).exists()
    told = diagnosis.of_request(request, [swap], timezone.now())
    assert (told.tone, "the swap delivered 0.02 USDC more" in told.sentence) == ("success", True)
    second = fail(request, "0x" + "cd" * 32)
    Payment.objects.filter(pk=second.pk).update(
        status="completed", failure_code="", amount_received=1, completed_at=timezone.now()
    )
    assert set(requests_with(PaymentRequest.objects.all(), Matter.OVERPAID, Payment.objects.all())) == {
        request
    }
    second.refresh_from_db()
    told = diagnosis.of_request(request, [swap, second], timezone.now())
    assert told.tone == "warning"
