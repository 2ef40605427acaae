"""Random histories of payments, refunds and reorganisations: what went back is never more than what was paid.

The facts of the chain are made up, and the verification engine evaluates and stores them. `SEQUENCES=2000` in the
environment tries that many histories (50 otherwise); `make properties` does so in two processes.
"""

import os
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chains.models import Chain, Token
from config.api.errors import ApiError
from merchants.models import Merchant
from payments import sandbox
from payments.models import ConsumedTransfer, Payment, PaymentRequest, Refund
from payments.refunds import services
from payments.refunds.reading import now, refunds_of
from payments.requests.lifecycle import lock_request
from payments.verification.finality import flag_reorged
from tests.support.payments.world import make_request

ASKED = 1_000
CUSTOMERS = ("0x8ba1f109551bD432803012645Ac136ddd64DBA72", "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045")
WHY = "a random history"


@dataclass
class History:
    """A request, and what the chain holds of its refunds, by the payment that sent it.

    `signed` are the refunds whose transactions are signed and not yet sent.
    """

    request: PaymentRequest
    on_chain: dict[str, int] = field(default_factory=dict)
    signed: set[str] = field(default_factory=set)

    @property
    def refunds(self) -> list[Refund]:
        """Return the refunds, oldest first."""
        return list(
            Refund.objects.filter(request=self.request).select_related("carrier").order_by("created_at")
        )

    def chosen(self, which: int) -> Refund | None:
        """Return one of the refunds."""
        refunds = self.refunds
        return refunds[which % len(refunds)] if refunds else None


def pay(history: History, which: int, units: int) -> None:
    """A customer pays some of it, or more than was asked for."""
    sandbox._pay(lock_request(history.request.pk), units, WHY)


def lose_payment(history: History, which: int, units: int) -> None:
    """The block of a payment vanishes, before anything of it was refunded."""
    paid = history.request.payments.filter(status=Payment.Status.COMPLETED, reorged=False)
    payment = paid.order_by("created_at").last()
    if payment is not None and not refunds_of(fresh(history.request)):
        flag_reorged(payment)


def refund(history: History, which: int, units: int) -> None:
    """The merchant creates a refund, with or without an address."""
    address = CUSTOMERS[which % 2] if which % 3 else None
    services.create_refund(
        history.request.pk,
        amount=units if which % 4 else None,
        recipient_address=address,
        payment_id=None,
        reason=None,
        actor=WHY,
    )


def claim(history: History, which: int, units: int) -> None:
    """The customer names an address."""
    chosen = history.chosen(which)
    if chosen is not None:
        services.set_address(chosen, CUSTOMERS[units % 2], actor=WHY)


def change_address(history: History, which: int, units: int) -> None:
    """The merchant chooses another address."""
    chosen = history.chosen(which)
    if chosen is not None:
        services.change_address(chosen, CUSTOMERS[units % 2], actor=WHY)


def cancel(history: History, which: int, units: int) -> None:
    """The merchant cancels a refund, and doesn't send what they signed for it."""
    chosen = history.chosen(which)
    if chosen is not None:
        services.cancel_refund(chosen, actor=WHY)
        history.signed.discard(chosen.pk)


def build(history: History, which: int, units: int) -> Refund | None:
    """The merchant signs a refund that the service builds, also one that failed before, and sends it later."""
    chosen = history.chosen(which)
    if chosen is not None:
        chosen.request = fresh(history.request)
        services.reserve_to_send(services.require_buildable(now([chosen])[0]), actor=WHY)
        history.signed.add(chosen.pk)
    return chosen


def send(history: History, which: int, units: int) -> None:
    """The merchant sends a refund that they signed before, or sign now."""
    chosen = history.chosen(which)
    if chosen is not None and (chosen.pk in history.signed or build(history, which, units)):
        history.signed.discard(chosen.pk)
        carrier = lock_request(chosen.carrier.pk)
        payment = sandbox._pay(carrier, carrier.amount, WHY)
        history.on_chain[payment.pk] = chosen.amount


def send_and_revert(history: History, which: int, units: int) -> None:
    """The merchant signs a refund, and its transaction is reverted."""
    chosen = history.chosen(which)
    if chosen is not None and (chosen.pk in history.signed or build(history, which, units)):
        history.signed.discard(chosen.pk)
        sandbox._fail(lock_request(chosen.carrier.pk), WHY)


def revert_and_build(history: History, which: int, units: int) -> None:
    """The merchant's transaction is reverted, and they sign the refund again."""
    send_and_revert(history, which, units)
    build(history, which, units)


def lose_refund(history: History, which: int, units: int) -> None:
    """The block of a refund vanishes."""
    sent = sorted(history.on_chain)
    if sent:
        lost = sent[which % len(sent)]
        flag_reorged(Payment.objects.get(pk=lost))
        del history.on_chain[lost]


ACTIONS: tuple[Callable[[History, int, int], None], ...] = (
    pay, pay, lose_payment, refund, refund, refund, refund, claim, change_address, cancel, build, send, send, send,
    send_and_revert, revert_and_build, revert_and_build, lose_refund,
)  # fmt: skip
STEPS = st.lists(
    st.tuples(st.sampled_from(ACTIONS), st.integers(0, 11), st.integers(1, ASKED)), min_size=4, max_size=16
)


def fresh(request: PaymentRequest) -> PaymentRequest:
    return PaymentRequest.objects.select_related("token", "chain", "merchant").get(pk=request.pk)


def check(history: History) -> None:
    request = fresh(history.request)
    states = refunds_of(request)
    refunded = sum(each.standing.received for each in states)
    may_go = [each for each in states if each.standing.is_open or each.refund.pk in history.signed]
    reserved = sum(each.refund.amount for each in may_go)
    standing = request.payments.filter(status=Payment.Status.COMPLETED, reorged=False)
    paid = sum(payment.amount_received or 0 for payment in standing)
    assert refunded == sum(history.on_chain.values()), "what went back is what the chain holds"
    assert refunded + reserved <= paid, "no more goes back than came, whatever is signed or still to be sent"
    consumed = ConsumedTransfer.objects.filter(
        payment__request__in=[each.refund.carrier_id for each in states]
    )
    assert {row.payment_id for row in consumed} == set(history.on_chain), "each transfer is consumed once"
    assert request.amount_paid >= paid, "a refund takes nothing from what was paid"


@pytest.mark.django_db
@settings(
    max_examples=int(os.environ.get("SEQUENCES", "50")),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(steps=STEPS)
def test_no_more_goes_back_than_was_paid(
    merchant: Merchant, chain: Chain, usdc: Token, steps: list[tuple[Callable[..., None], int, int]]
) -> None:
    with transaction.atomic():
        recipient = "0x" + uuid.uuid4().hex + "0" * 8
        history = History(make_request(merchant, usdc, "0.001", chain.family.normalise_address(recipient)))
        for action, which, units in steps:
            with suppress(ApiError), transaction.atomic():
                action(history, which, units)
            check(history)
        transaction.set_rollback(True)
