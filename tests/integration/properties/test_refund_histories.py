"""Random histories of payments, refunds, prices, acceptance and reorganisations, compared with a short ledger.

The verdicts are invented, and the engine stores them. Three rules hold after every step. A request that just
completed was fully paid at that moment, net of refunds. No more is refunded than was paid. The merchant sees
every case that needs a decision. `SEQUENCES=2000` tries that many histories (default 60). `make properties`
does so in two processes.
"""

import os
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chains.models import Chain, Token
from config.api.errors import ApiError
from merchants.models import Merchant
from payments.attention import Matter, payments_with, requests_with
from payments.models import ConsumedTransfer, FailureCode, Payment, PaymentRequest, Refund
from payments.refunds import services
from payments.refunds.reading import now, refunds_of
from payments.requests.crediting import PRICE_GRACE
from payments.requests.lifecycle import cancel_request, expire_due
from payments.submission.merchant_acceptance import accept_payment
from payments.verification.finality import clear_reorged, flag_reorged
from tests.support.payments.credits import complete_again, credit, fail
from tests.support.payments.world import make_request
from webhooks.models import Event

ASKED = 1_000
CUSTOMERS = ("0x8ba1f109551bD432803012645Ac136ddd64DBA72", "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045")
WHY = "a random history"


@dataclass
class History:
    """A request and its ledger: the amounts of its payments, which of them count, and the amounts of its refunds.

    `on_chain` has the refunds' amounts by the payment that sent them. `signed` has the refunds whose
    transactions are signed but not sent. `late` has the payments after the price.
    """

    request: PaymentRequest
    paid: dict[str, int] = field(default_factory=dict)
    lost: set[str] = field(default_factory=set)
    late: set[str] = field(default_factory=set)
    on_chain: dict[str, int] = field(default_factory=dict)
    signed: set[str] = field(default_factory=set)
    unbound: dict[str, int] = field(default_factory=dict)

    @property
    def refunds(self) -> list[Refund]:
        """Return the refunds, oldest first."""
        return list(
            Refund.objects.filter(request=self.request).select_related("carrier").order_by("created_at")
        )

    def chosen(self, which: int) -> Refund | None:
        refunds = self.refunds
        return refunds[which % len(refunds)] if refunds else None

    @property
    def standing(self) -> int:
        """Return the amount that arrived and was not reorganised away."""
        return sum(units for pk, units in self.paid.items() if pk not in self.lost)

    def net(self) -> int:
        """Return the amount that the merchant keeps if every open refund is sent."""
        open_ = sum(each.refund.amount for each in now(self.refunds) if each.standing.is_open)
        return self.standing - sum(self.on_chain.values()) - open_


def pay(history: History, which: int, units: int) -> None:
    """A customer pays a part of the amount, or too much."""
    payment = credit(history.request, units, at=timezone.now())
    history.paid[payment.pk] = units
    end = fresh(history.request).expires_at
    if history.request.price and timezone.now() > end + PRICE_GRACE:
        history.late.add(payment.pk)


def pay_rest(history: History, which: int, units: int) -> None:
    """A customer pays the remaining amount."""
    rest = fresh(history.request).amount_remaining
    if rest:
        pay(history, which, rest)


def report_in_time(history: History, which: int, units: int) -> None:
    """Nodes report a transfer that was mined before the request expired."""
    payment = credit(history.request, units, at=fresh(history.request).expires_at)
    history.paid[payment.pk] = units


def pay_unbound(history: History, which: int, units: int) -> None:
    """A wallet sends without the reference."""
    payment = fail(history.request, FailureCode.TRANSACTION_NOT_BOUND)
    history.unbound[payment.pk] = units


def accept(history: History, which: int, units: int) -> None:
    """The merchant accepts an unbound payment, or the last credited one."""
    if history.unbound and which % 2:
        pk = sorted(history.unbound)[which % len(history.unbound)]
        accepted = accept_payment(Payment.objects.get(pk=pk), reason=WHY, actor=WHY)
        brought = history.unbound.pop(accepted.pk)
        complete_again(accepted, brought)
        history.paid[accepted.pk] = brought
    elif history.paid:
        pk = list(history.paid)[which % len(history.paid)]
        accept_payment(Payment.objects.get(pk=pk), reason=WHY, actor=WHY)
        history.late.discard(pk)


def expire(history: History, which: int, units: int) -> None:
    """The request expires, so long ago that its price has ended too."""
    request = fresh(history.request)
    if request.status == "active":
        end = timezone.now() - timedelta(minutes=10)
        PaymentRequest.objects.filter(pk=request.pk).update(expires_at=end, expiry_check_at=end)
        expire_due()


def cancel_whole(history: History, which: int, units: int) -> None:
    cancel_request(history.request.pk, actor=WHY)


def lose_payment(history: History, which: int, units: int) -> None:
    """A payment's block is reorganised away."""
    standing = sorted(history.paid.keys() - history.lost)
    if standing:
        lost = standing[which % len(standing)]
        flag_reorged(Payment.objects.get(pk=lost))
        history.lost.add(lost)


def find_payment(history: History, which: int, units: int) -> None:
    """A lost payment is mined again."""
    if history.lost:
        back = sorted(history.lost)[which % len(history.lost)]
        assert clear_reorged(Payment.objects.get(pk=back))
        history.lost.discard(back)


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
    assert history.net() >= 0, "no more is refunded than was paid"


def claim(history: History, which: int, units: int) -> None:
    """The customer sets the address."""
    chosen = history.chosen(which)
    if chosen is not None:
        services.set_address(chosen, CUSTOMERS[units % 2], actor=WHY)


def change_address(history: History, which: int, units: int) -> None:
    """The merchant chooses another address."""
    chosen = history.chosen(which)
    if chosen is not None:
        services.change_address(chosen, CUSTOMERS[units % 2], actor=WHY)


def cancel(history: History, which: int, units: int) -> None:
    """The merchant cancels a refund, and doesn't send its signed transaction."""
    chosen = history.chosen(which)
    if chosen is not None:
        services.cancel_refund(chosen, actor=WHY)
        history.signed.discard(chosen.pk)


def build(history: History, which: int, units: int) -> Refund | None:
    """The merchant signs a refund that the service builds, and sends it later. The refund may have failed before."""
    chosen = history.chosen(which)
    if chosen is not None:
        chosen.request = fresh(history.request)
        services.reserve_to_send(services.require_buildable(now([chosen])[0]), actor=WHY)
        history.signed.add(chosen.pk)
        assert history.net() >= 0, "no more is signed than was paid"
    return chosen


def send(history: History, which: int, units: int) -> None:
    """The merchant sends a refund that is already signed or is signed now."""
    chosen = history.chosen(which)
    if chosen is not None and (chosen.pk in history.signed or build(history, which, units)):
        history.signed.discard(chosen.pk)
        payment = credit(chosen.carrier, chosen.amount)
        history.on_chain[payment.pk] = chosen.amount


def send_and_revert(history: History, which: int, units: int) -> None:
    """The merchant signs and sends a refund. Its transaction reverts."""
    chosen = history.chosen(which)
    if chosen is not None and (chosen.pk in history.signed or build(history, which, units)):
        history.signed.discard(chosen.pk)
        fail(chosen.carrier)


def revert_and_build(history: History, which: int, units: int) -> None:
    """The merchant's transaction reverts, and the merchant signs the refund again."""
    send_and_revert(history, which, units)
    build(history, which, units)


def lose_refund(history: History, which: int, units: int) -> None:
    """A refund's block is reorganised away."""
    sent = sorted(history.on_chain)
    if sent:
        lost = sent[which % len(sent)]
        flag_reorged(Payment.objects.get(pk=lost))
        del history.on_chain[lost]


ACTIONS: tuple[Callable[[History, int, int], object], ...] = (
    pay, pay, pay_rest, pay_rest, report_in_time, report_in_time, pay_unbound, accept, accept, expire, expire,
    cancel_whole, lose_payment, find_payment, refund, refund, refund, refund, claim, change_address, cancel,
    cancel, build, send, send, send, send_and_revert, revert_and_build, lose_refund,
)  # fmt: skip
STEPS = st.lists(
    st.tuples(st.sampled_from(ACTIONS), st.integers(0, 11), st.integers(1, ASKED)), min_size=4, max_size=20
)


def fresh(request: PaymentRequest) -> PaymentRequest:
    return PaymentRequest.objects.select_related("token", "chain", "merchant").get(pk=request.pk)


def check(history: History, before: PaymentRequest, action: Callable[..., object]) -> None:
    request = fresh(history.request)
    net = history.net()
    assert request.net == net, "the service and the ledger agree on what is held"
    check_refunds(history, request)
    if request.status == "completed" and before.status != "completed":
        assert net >= ASKED, "a completed request was paid in full, net, at that moment"
        assert action in (pay, pay_rest, report_in_time, accept), "only a credit or an acceptance completes"
        if action is not accept and request.price:
            in_time = sum(
                units for pk, units in history.paid.items() if pk not in history.lost | history.late
            )
            assert in_time >= ASKED, "an old price is no option"
    if before.status == "completed":
        assert request.status == "completed", "completed is final"
    check_reported(history, request, net)


def check_refunds(history: History, request: PaymentRequest) -> None:
    states = refunds_of(request)
    refunded = sum(each.standing.received for each in states)
    assert refunded == sum(history.on_chain.values()), "what went back is what the chain holds"
    consumed = ConsumedTransfer.objects.filter(
        payment__request__in=[each.refund.carrier_id for each in states]
    )
    assert {row.payment_id for row in consumed} == set(history.on_chain), "each transfer is consumed once"
    assert request.amount_paid == sum(history.paid.values()), "the gross amount never falls"


def check_reported(history: History, request: PaymentRequest, net: int) -> None:
    """Each case that a person must decide is listed under Needs attention. Each completed request was reported."""
    succeeded = Event.objects.filter(type="payment.succeeded", dedupe_key=str(request.pk)).count()
    if request.status == "completed":
        assert succeeded == 1
        assert net <= ASKED or is_listed(request, Matter.OVERPAID)
    elif request.status == "active" or request.status == "expired":
        assert succeeded == 0
        if net >= ASKED:
            assert is_listed(request, Matter.AFTER_PRICE) or is_listed(request, Matter.UNDECIDED)
        elif request.status == "expired":
            assert net <= 0 or is_listed(request, Matter.PARTLY_PAID)
    else:
        assert net <= 0 or is_listed(request, Matter.PARTLY_PAID)
    assert not history.lost or is_listed(request, Matter.REORGED)
    assert not history.unbound or request.status == "completed" or is_listed(request, Matter.NOT_BOUND)


def is_listed(request: PaymentRequest, matter: Matter) -> bool:
    if matter in (Matter.REORGED, Matter.NOT_BOUND):
        listed = payments_with(Payment.objects.all(), matter, PaymentRequest.objects.all())
        return listed.filter(request=request).exists()
    of_requests = requests_with(PaymentRequest.objects.all(), matter, Payment.objects.all())
    return of_requests.filter(pk=request.pk).exists()


@pytest.mark.django_db
@settings(
    max_examples=int(os.environ.get("SEQUENCES", "60")),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(is_priced=st.booleans(), steps=STEPS)
def test_completed_means_paid_in_full_net_of_refunds(
    merchant: Merchant,
    chain: Chain,
    usdc: Token,
    is_priced: bool,
    steps: list[tuple[Callable[..., None], int, int]],
) -> None:
    with transaction.atomic():
        recipient = chain.family.normalise_address("0x" + uuid.uuid4().hex + "0" * 8)
        price = {"currency": "EUR", "amount": "0.01"} if is_priced else None
        request = make_request(merchant, usdc, "0.001", recipient)
        PaymentRequest.objects.filter(pk=request.pk).update(price=price)
        history = History(fresh(request))
        for action, which, units in steps:
            before = fresh(request)
            with suppress(ApiError), transaction.atomic():
                action(history, which, units)
            check(history, before, action)
        transaction.set_rollback(True)
