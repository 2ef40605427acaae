"""Payments by deposit address are stored like others. Each transfer counts once, for the request of its address."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone

from config.api.errors import ApiError
from payments.models import ConsumedTransfer, DepositAddress, Payment, PaymentRequest, Refund
from payments.refunds.claims import DeadEnd, NoSigner, signable_payments
from payments.submission.hashes import sight_for_merchant, submit_for_merchant, submit_hash
from payments.submission.merchant_acceptance import accept_payment
from tests.support.payments.deposits import KnownTransactions, give_address, moved
from tests.support.payments.world import Clock, look, submit

Make = Callable[..., PaymentRequest]
AMOUNT = 10_000_000


def looked_at(payment: Payment, chain: KnownTransactions) -> Payment:
    look(Clock(), chain.of)
    payment.refresh_from_db()
    return payment


def test_one_payout_to_two_addresses_completes_both_requests(request_for: Make) -> None:
    first, second, chain = request_for(), request_for(), KnownTransactions()
    to_first = moved(first, AMOUNT, give_address(first, 1), "0")
    sent = chain.add(1, to_first, moved(second, AMOUNT, give_address(second, 2), "1"))
    paid = looked_at(submit(first, sent), chain)
    assert paid.carries_others
    rest, _ = submit_hash(
        second, chain=second.chain, transaction_hash=sent, actor="checkout", client=chain.of
    )
    assert looked_at(rest, chain).bound_by == "address"
    assert list(ConsumedTransfer.objects.order_by("slot").values_list("payment", "slot", "amount")) == [
        (paid.pk, "0", AMOUNT),
        (rest.pk, "1", AMOUNT),
    ]


def test_hash_that_went_to_another_requests_address_pays_nothing(request_for: Make) -> None:
    first, second, chain = request_for(), request_for(), KnownTransactions()
    give_address(second, 2)
    sent = chain.add(1, moved(first, AMOUNT, give_address(first, 1)))
    assert looked_at(submit(second, sent), chain).failure_code == "wrong_recipient"
    assert not ConsumedTransfer.objects.exists()


@pytest.mark.parametrize("has_address", [True, False])
def test_sweep_is_no_payment_and_not_acceptable(request_for: Make, has_address: bool) -> None:
    swept, request, chain = request_for(), request_for(), KnownTransactions()
    if has_address:
        give_address(request, 2)
    source = give_address(swept, 1)
    sent = chain.add(1, moved(request, AMOUNT, request.recipient_address, sender=source, made_by=source))
    payment = looked_at(submit(request, sent), chain)
    assert (payment.status, payment.failure_code) == ("failed", "transaction_already_used")
    with pytest.raises(ApiError) as refusal:
        accept_payment(payment, reason="it reached my wallet", actor="test")
    assert refusal.value.problems[0].code == "transaction_already_used"
    payment.refresh_from_db()
    assert (payment.status, payment.accepted_by, request.amount_paid) == ("failed", "", 0)


def test_merchant_that_submits_a_sweep_is_told_at_once(request_for: Make) -> None:
    swept, request, chain = request_for(), request_for(), KnownTransactions()
    sent = chain.add(1, moved(request, AMOUNT, request.recipient_address, sender=give_address(swept, 1)))
    sighting = sight_for_merchant(request, request.chain, sent, client=chain.of)
    with pytest.raises(ApiError) as refusal:
        submit_for_merchant(
            request, chain=request.chain, transaction_hash=sent, actor="test", sighting=sighting
        )
    assert refusal.value.problems[0].code == "transaction_already_used"
    assert not Payment.objects.exists()


def test_nobody_signs_for_the_refund_of_a_payment_by_address(request_for: Make) -> None:
    request, chain = request_for(), KnownTransactions()
    sent = chain.add(1, moved(request, AMOUNT, give_address(request, 1)))
    payment = looked_at(submit(request, sent), chain)
    refund = Refund(request=request, amount=1, credited_payments=[payment.pk])
    with pytest.raises(NoSigner) as dead_end:
        signable_payments(refund)
    assert dead_end.value.reason is DeadEnd.UNKNOWN


def test_arrival_before_the_address_was_shown_is_not_credited(request_for: Make) -> None:
    """The service could not recognise its sweep as one. So the merchant may have accepted the sweep as a payment."""
    nodes, clock, request = KnownTransactions(), Clock(), request_for()
    address = give_address(request, 1)
    DepositAddress.objects.update(shown_at=timezone.now() + timedelta(minutes=2))
    hash_ = nodes.add(1, moved(request, request.amount, address))
    payment, _ = submit_hash(
        request, chain=request.chain, transaction_hash=hash_, actor="checkout", client=nodes.of
    )
    look(clock, nodes.of)
    payment.refresh_from_db()
    assert (payment.status, payment.failure_code) == ("failed", "wrong_recipient")
    request.refresh_from_db()
    assert request.amount_paid == 0
