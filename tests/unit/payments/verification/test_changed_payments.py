"""A reorganisation executes a completed payment's transaction again, and it pays another amount or by another log."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from chains.client import Transfer
from payments.models import ConsumedTransfer, LateValue, Payment, PaymentRequest
from payments.submission.hashes import submit_hash
from payments.verification.finality import CHECKS_BEFORE_ALERT
from tests.support.payments.rows import change, new_payment
from tests.support.payments.scripted_nodes import ScriptedNodes, mined, transfer_to
from tests.support.payments.world import Clock, look
from tests.verifying import check_finality
from webhooks.models import Event

Make = Callable[..., PaymentRequest]
SWAP = "0x" + "5a" * 32
ASKED, FIRST = 1000, 1002
CHECKS = CHECKS_BEFORE_ALERT + 1


class Nodes(ScriptedNodes):
    """Nodes whose checks at finality move a clock."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()

    def reorganise(self, *transfers: Transfer, checks: int = CHECKS) -> None:
        """Mine the transaction in another block with these transfers, and check it until the flag can end."""
        self.has(mined(SWAP, *transfers, block="b", at=timezone.now() - timedelta(seconds=1)))
        self.check(checks)

    def check(self, times: int = 1) -> None:
        for _ in range(times):
            self.clock.forward(days=1)
            assert check_finality(client=self.of, now=self.clock) == 1


@pytest.fixture
def nodes() -> Nodes:
    return Nodes()


@pytest.fixture
def payment(request_for: Make, nodes: Nodes) -> Payment:
    """A payment of 1,002 base units that completed a request for 1,000."""
    return completed(request_for("0.001"), nodes)


def completed(request: PaymentRequest, nodes: Nodes) -> Payment:
    payment, _ = submit_hash(request, chain=request.chain, transaction_hash=SWAP, actor="checkout")
    nodes.has(mined(SWAP, transfer_to(request, FIRST)))
    look(nodes.clock, nodes.of)
    payment.refresh_from_db()
    assert (payment.status, payment.amount_received) == ("completed", FIRST)
    return payment


def state(payment: Payment) -> tuple[bool, int | None, int, int]:
    """Return the flag, the payment's amount, the gross and the net amount of the request."""
    payment.refresh_from_db()
    payment.request.refresh_from_db()
    request = payment.request
    return payment.reorged, payment.amount_received, int(request.amount_paid), int(request.net)


def credits() -> list[tuple[str, int]]:
    return [(slot, int(amount)) for slot, amount in ConsumedTransfer.objects.values_list("slot", "amount")]


def last_event() -> dict[str, Any]:
    body = json.loads(Event.objects.filter(type="payment.reorged").latest("created").body)
    found: dict[str, Any] = body["data"]["object"]
    return found


@pytest.mark.parametrize(("amount", "slot"), [(1001, "3"), (1005, "4"), (1000, "3"), (FIRST, "4")], ids=str)
def test_changed_transaction_is_credited_in_place(
    nodes: Nodes, payment: Payment, amount: int, slot: str
) -> None:
    payment.request.chain.routers = {"lifi": ["0x" + "11" * 20]}
    payment.request.chain.save(update_fields=["routers"])
    nodes.reorganise(transfer_to(payment.request, amount, slot))
    assert state(payment) == (False, amount, amount, amount)
    assert credits() == [(slot, amount)]
    assert nodes.mentioning, "calls of providers' contracts are read"
    event = last_event()
    assert (event["reorged"], int(event["amount"])) == (False, amount)
    more = f"; {(amount - ASKED) / 10**6:f} USDC more than requested" if amount > ASKED else ""
    assert payment.status_detail == f"Verified on the chain{more}."
    assert payment.amount == amount
    nodes.check()
    assert state(payment)[0] is False


def test_payment_that_comes_back_with_more_is_credited_in_full(nodes: Nodes, payment: Payment) -> None:
    nodes.has()
    nodes.check(CHECKS)
    assert state(payment) == (True, FIRST, FIRST, 0)
    nodes.reorganise(transfer_to(payment.request, 1005), checks=1)
    assert state(payment) == (False, 1005, 1005, 1005)


def test_completed_request_is_not_credited_with_too_little(nodes: Nodes, payment: Payment) -> None:
    nodes.reorganise(transfer_to(payment.request, 999))
    assert state(payment) == (True, FIRST, FIRST, 0)
    assert credits() == [("3", FIRST)]
    nodes.reorganise(transfer_to(payment.request, 1001), checks=1)
    assert state(payment) == (False, 1001, 1001, 1001)


def test_earlier_acceptance_does_not_cover_a_smaller_amount(nodes: Nodes, payment: Payment) -> None:
    change(payment, accepted_by="m", accepted_at=timezone.now())
    nodes.reorganise(transfer_to(payment.request, 1), checks=CHECKS + 1)
    assert state(payment) == (True, FIRST, FIRST, 0)
    assert credits() == [("3", FIRST)]


def test_part_payment_is_credited_with_less(request_for: Make, nodes: Nodes) -> None:
    payment = completed(request_for("0.002"), nodes)
    nodes.reorganise(transfer_to(payment.request, 999))
    assert state(payment) == (False, 999, 999, 999)
    assert payment.request.status == "active"


def test_transaction_that_pays_nothing_stays_reorged(nodes: Nodes, payment: Payment) -> None:
    other_token = transfer_to(payment.request, 10**18, token="0x" + "22" * 20)
    nodes.reorganise(replace(other_token, references=()))
    assert state(payment) == (True, FIRST, FIRST, 0)
    assert credits() == [("3", FIRST)]


def test_credits_of_other_transactions_stay(nodes: Nodes, payment: Payment) -> None:
    ConsumedTransfer.objects.create(
        chain=payment.chain, transaction_hash="0x" + "77" * 32, slot="0", payment=payment, amount=8
    )
    PaymentRequest.objects.update(amount_paid=FIRST + 8)
    Payment.objects.update(amount_received=FIRST + 8)
    nodes.reorganise(transfer_to(payment.request, 1001))
    assert state(payment) == (False, 1009, 1009, 1009)
    assert sorted(credits()) == [("0", 8), ("3", 1001)]


def test_transfer_of_another_payment_is_not_credited(nodes: Nodes, payment: Payment) -> None:
    other = new_payment(request=payment.request, chain=payment.chain, transaction_hash="0x" + "77" * 32)
    ConsumedTransfer.objects.create(
        chain=payment.chain, transaction_hash=SWAP, slot="4", payment=other, amount=1001
    )
    nodes.reorganise(transfer_to(payment.request, 1001, "4"))
    assert state(payment) == (True, FIRST, FIRST, 0)
    assert sorted(credits()) == [("3", FIRST), ("4", 1001)]


def test_value_keeps_its_rate_when_the_amount_changes(nodes: Nodes, payment: Payment) -> None:
    value = {"currency": "USD", "amount": "1002.00", "rate": "1000000", "estimated": False}
    yesterday = timezone.now() - timedelta(days=1)
    change(payment, value=value, value_due_at=None, completed_at=yesterday)
    nodes.reorganise(transfer_to(payment.request, 1001))
    payment.refresh_from_db()
    assert payment.value == {**value, "amount": "1001.00"}
    assert payment.value_due_at is None
    assert LateValue.objects.get().day == yesterday.date()


def test_changed_delivery_is_credited_in_place(request_for: Make, nodes: Nodes) -> None:
    request = request_for("0.001")
    payment = new_payment(
        request=request,
        chain=request.chain,
        transaction_hash="0x" + "ab" * 32,
        status="processing",
        type="swap",
        next_check_at=None,
        from_address="customer",
        provider="lifi",
        reported_amount=FIRST,
        delivery_hash=SWAP,
        delivery_next_check_at=timezone.now(),
    )
    nodes.has(mined(SWAP, transfer_to(request, FIRST, references=False)))
    look(nodes.clock, nodes.of)
    nodes.reorganise(transfer_to(request, 1001, references=False))
    assert state(payment) == (False, 1001, 1001, 1001)
    assert (payment.from_address, credits()) == ("customer", [("3", 1001)])
