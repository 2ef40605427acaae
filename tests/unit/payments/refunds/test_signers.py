"""The wallets that may sign for a refund's address are fixed when the refund is created."""

from collections.abc import Sequence

import pytest
from django.utils import timezone

from payments.models import Payment, PaymentRequest, Refund, Route
from payments.refunds import claims
from payments.refunds.claims import DeadEnd, NoSigner, payer_of, signable_payments
from tests.support.portal.payment_rows import SENDER
from tests.support.portal.refund_rows import OTHER, create, pay

pytestmark = pytest.mark.django_db


@pytest.fixture
def senders(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """The senders of each payment, as the chain would return them. By default, SENDER."""
    known: dict[str, list[str]] = {}

    def look_up(payment: Payment) -> Sequence[str]:
        return known.get(payment.pk, [SENDER])

    monkeypatch.setattr(claims, "_senders", look_up)
    return known


def reason(refund: Refund) -> DeadEnd:
    with pytest.raises(NoSigner) as failure:
        payer_of(refund)
    return failure.value.reason


def test_later_payment_of_a_stranger_blocks_no_claim(
    paid: PaymentRequest, senders: dict[str, list[str]]
) -> None:
    refund = create(paid, recipient_address=None)
    senders[pay(paid, 1).pk] = [OTHER]
    assert payer_of(refund).address == SENDER


def test_earlier_payment_of_a_stranger_leaves_no_signer(
    paid: PaymentRequest, senders: dict[str, list[str]]
) -> None:
    senders[pay(paid, 1).pk] = [OTHER]
    assert reason(create(paid, recipient_address=None)) == DeadEnd.SEVERAL


def test_later_clock_of_another_machine_adds_no_signer(
    paid: PaymentRequest, senders: dict[str, list[str]]
) -> None:
    refund = create(paid, recipient_address=None)
    later = pay(paid, 1)
    earlier = refund.created_at.replace(year=refund.created_at.year - 1)
    Payment.objects.filter(pk=later.pk).update(created_at=earlier, completed_at=earlier)
    senders[later.pk] = [OTHER]
    assert payer_of(refund).address == SENDER


def test_reorganised_payment_gives_no_signer_until_it_is_back(
    paid: PaymentRequest, senders: dict[str, list[str]]
) -> None:
    refund = create(paid, recipient_address=None)
    paid.payments.update(reorged=True)
    assert reason(refund) == DeadEnd.REORGED
    paid.payments.update(reorged=False)
    assert payer_of(refund).address == SENDER


def test_named_payment_alone_gives_the_signer(paid: PaymentRequest, senders: dict[str, list[str]]) -> None:
    second = pay(paid, 5)
    senders[second.pk] = [OTHER]
    assert payer_of(create(paid, recipient_address=None, payment_id=second.pk)).address == OTHER


def test_simulated_payment_gives_no_signer(paid: PaymentRequest) -> None:
    paid.payments.update(is_simulated=True)
    assert reason(create(paid, recipient_address=None)) == DeadEnd.SIMULATED


def test_relayed_swap_gives_no_signer(paid: PaymentRequest) -> None:
    payment = paid.payments.get()
    route = Route.objects.create(
        request=paid,
        type="swap",
        wallet_address=OTHER,
        chain=paid.chain,
        token=paid.token,
        amount=1,
        expires_at=timezone.now(),
    )
    paid.payments.update(type="swap", bound_by="provider", route=route, from_address=SENDER)
    refund = create(paid, recipient_address=None)
    assert reason(refund) == DeadEnd.UNKNOWN
    paid.payments.update(from_address=OTHER)
    assert [each.pk for each in signable_payments(refund)] == [payment.pk]
    assert payer_of(refund).address == OTHER


def test_payment_of_unknown_senders_gives_no_signer(
    paid: PaymentRequest, senders: dict[str, list[str]]
) -> None:
    senders[paid.payments.get().pk] = []
    assert reason(create(paid, recipient_address=None)) == DeadEnd.UNKNOWN
