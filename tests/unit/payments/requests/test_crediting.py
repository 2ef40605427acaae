"""The effect of a credited payment on its request: completion, events and the merchant's decision."""

import json
from collections.abc import Callable
from datetime import timedelta
from fractions import Fraction
from importlib import import_module
from typing import Any

import pytest
from django.core import mail
from django.db import connection
from django.utils import timezone

from config.api.errors import ApiError, ErrorCode
from merchants.mail.sending import send_due
from merchants.models import AllowedRecipient, Mail, Merchant
from payments.models import FailureCode, Payment, PaymentRequest, Refund, Transition
from payments.prices import late_payments
from payments.prices.rates import Rate
from payments.refunds.services import cancel_refund
from payments.requests import crediting
from payments.requests.crediting import is_after_price
from payments.requests.lifecycle import cancel_request
from payments.routes.refusals import require_payable
from payments.submission.merchant_acceptance import accept_payment
from payments.verification.finality import clear_reorged, flag_reorged
from tests.support.payments.credits import PRICE, UNIT, credit, expire, fail, refund
from tests.support.payments.credits import pay_tenths as pay
from tests.support.portal.payment_rows import Make
from webhooks.models import Event
from webhooks.storage.retention import purge

pytestmark = pytest.mark.django_db

RATE = {
    "value": "0.95",
    "currency": "EUR",
    "token": "USDC",
    "sources": [],
    "observed_at": "2026-11-01T00:00:00Z",
}


def fresh(request: PaymentRequest) -> PaymentRequest:
    return PaymentRequest.objects.select_related("token", "merchant").get(pk=request.pk)


def price(request: PaymentRequest) -> None:
    PaymentRequest.objects.filter(pk=request.pk).update(price=PRICE, rate=RATE)


def send(refund: Refund) -> None:
    assert refund.carrier is not None
    credit(refund.carrier, refund.amount)


def events(request: PaymentRequest) -> list[str]:
    """Return the types of the request's events, oldest first."""
    return [event["type"] for event in bodies(request)]


def bodies(request: PaymentRequest) -> list[dict[str, Any]]:
    stored = [json.loads(event.body) for event in Event.objects.order_by("created")]
    return [body for body in stored if body["data"]["object"]["payment_request"] == str(request.pk)]


def sums(request: PaymentRequest) -> dict[str, str]:
    """Return the amounts in the request's last event, in tenths of the requested amount."""
    last = bodies(request)[-1]["data"]["object"]
    names = ("amount_paid", "amount_remaining", "amount_overpaid", "amount_refunded", "amount_refund_open")
    return {name: str(int(last[name]["raw"]) // UNIT) for name in names}


def test_refunded_part_does_not_count_toward_completion(make: Make) -> None:
    request = make()
    pay(request, 9)
    expire(request)
    send(refund(request))
    pay(request, 1)
    request = fresh(request)
    assert (request.status, request.net) == ("expired", UNIT)
    assert events(request) == [
        "payment.partially_paid",
        "payment.expired",
        "refund.completed",
        "payment.partially_paid",
    ]
    assert sums(request) == {
        "amount_paid": "10",
        "amount_remaining": "9",
        "amount_overpaid": "0",
        "amount_refunded": "9",
        "amount_refund_open": "0",
    }
    pay(request, 9)
    assert (fresh(request).status, events(request)[-1]) == ("completed", "payment.succeeded")


@pytest.mark.parametrize("ending", ["cancelled", "failed"])
def test_refund_that_frees_its_amount_completes_nothing(make: Make, ending: str) -> None:
    request = make()
    pay(request, 9)
    expire(request)
    open_refund = refund(request)
    last = pay(request, 1)
    assert sums(request)["amount_refund_open"] == "9"
    with pytest.raises(ApiError) as refused:
        accept_payment(last, reason="no", actor="test")
    assert refused.value.problems[0].code == ErrorCode.PAYMENT_REFUNDED
    if ending == "cancelled":
        cancel_refund(open_refund, actor="test")
    else:
        assert open_refund.carrier is not None
        fail(open_refund.carrier)
    assert (fresh(request).status, fresh(request).is_paid_in_full) == ("expired", True)
    assert "payment.succeeded" not in events(request)
    accept_payment(last, reason="delivered", actor="test")
    assert (fresh(request).status, events(request)[-1]) == ("completed", "payment.succeeded")
    assert Transition.objects.filter(
        request=request, reason="accepted: delivered", to_status="completed"
    ).exists()


def test_decision_and_event_use_the_same_totals(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """A refund's transaction can fail with only its own request locked. Here it fails while a payment is credited."""
    request = make()
    pay(request, 9)
    expire(request)
    made = refund(request)
    assert made.carrier is not None
    carrier, decide = made.carrier, crediting._paid_in_time

    def failed_meanwhile(*given: Any, **named: Any) -> int:
        fail(carrier)
        return decide(*given, **named)

    monkeypatch.setattr(crediting, "_paid_in_time", failed_meanwhile)
    pay(request, 1)
    shown = bodies(request)[-1]
    assert (shown["type"], fresh(request).status) == ("payment.partially_paid", "expired")
    assert (sums(request)["amount_remaining"], sums(request)["amount_refund_open"]) == ("9", "9")
    assert fresh(request).can_be_accepted


def test_credit_completes_request_whose_refund_was_cancelled(make: Make) -> None:
    request = make()
    pay(request, 9)
    expire(request)
    open_refund = refund(request)
    pay(request, 1)
    cancel_refund(open_refund, actor="test")
    pay(request, 1)
    assert (fresh(request).status, events(request)[-1], sums(request)["amount_overpaid"]) == (
        "completed",
        "payment.succeeded",
        "1",
    )


@pytest.mark.parametrize(("seconds", "is_late"), [(-1, False), (0, False), (120, False), (120.000001, True)])
def test_price_holds_for_120_seconds_after_expiry(seconds: float, is_late: bool) -> None:
    end = timezone.now()
    request = PaymentRequest(price=PRICE, expires_at=end)
    paid_at = end + timedelta(seconds=seconds)
    assert is_after_price(request, Payment(), paid_at) is is_late
    assert is_after_price(request, Payment(accepted_by="merchant"), paid_at) is False
    assert is_after_price(PaymentRequest(expires_at=end), Payment(), paid_at) is False


def test_payment_after_price_waits_for_acceptance(make: Make) -> None:
    request = make()
    price(request)
    expire(request)
    payment = pay(request, 10)
    assert (fresh(request).status, payment.after_price) == ("expired", True)
    assert events(request) == ["payment.expired", "payment.partially_paid"]
    assert sums(request)["amount_remaining"] == "0"
    accept_payment(payment, reason="fine", actor="test")
    accepted = fresh(request)
    assert (accepted.status, accepted.paid_late, accepted.late_price_mail_at) == ("completed", True, None)
    again = accept_payment(payment, reason="again", actor="test")
    assert (again.accepted_reason, events(request)[-1]) == ("fine", "payment.succeeded")
    assert Event.objects.filter(type="payment.succeeded").count() == 1


@pytest.mark.parametrize(("amount", "status"), [(10, "completed"), (4, "active")])
def test_accepting_a_credited_payment_changes_nothing(make: Make, amount: int, status: str) -> None:
    request = make()
    payment = pay(request, amount)
    before = events(request)
    unchanged = accept_payment(payment, reason="fine", actor="test")
    assert (unchanged.status, unchanged.accepted_by, unchanged.accepted_reason) == ("completed", "", "")
    assert (fresh(request).status, events(request)) == (status, before)


@pytest.mark.parametrize(
    ("in_time", "status", "event"),
    [
        (10, "completed", "payment.succeeded"),
        (11, "completed", "payment.succeeded"),
        (9, "expired", "payment.overpaid"),
    ],
)
def test_payment_in_time_completes_only_by_its_own_amount(
    make: Make, in_time: int, status: str, event: str
) -> None:
    request = make()
    price(request)
    end = expire(request)
    pay(request, 10)
    pay(request, in_time, at=end)
    assert (fresh(request).status, events(request)[-1]) == (status, event)


def test_withheld_payment_in_time_does_not_keep_old_price(make: Make) -> None:
    request = make()
    price(request)
    end = expire(request)
    pay(request, 9)
    pay(request, 1, at=end)
    assert (fresh(request).status, fresh(request).is_paid_in_full) == ("expired", True)
    assert events(request)[-1] == "payment.partially_paid"


def test_several_payments_in_time_complete_after_a_late_one(make: Make) -> None:
    request = make()
    price(request)
    end = expire(request)
    pay(request, 10)
    pay(request, 5, at=end)
    assert events(request)[-1] == "payment.overpaid"
    pay(request, 5, at=end)
    assert (fresh(request).status, events(request)[-1]) == ("completed", "payment.succeeded")


def test_cancelled_request_succeeds_once(make: Make) -> None:
    request = make()
    cancel_request(request.pk, actor="test")
    pay(request, 10)
    send(refund(request))
    pay(request, 10)
    assert fresh(request).status == "cancelled"
    assert events(request) == ["payment.succeeded", "refund.completed", "payment.overpaid"]


def test_cancelled_request_succeeds_once_after_a_purge(make: Make) -> None:
    request = make()
    cancel_request(request.pk, actor="test")
    pay(request, 10)
    send(refund(request))
    assert purge(timezone.now() + timedelta(days=31)) == len(["payment.succeeded", "refund.completed"])
    pay(request, 10)
    assert (fresh(request).status, events(request)) == ("cancelled", ["payment.overpaid"])


def test_upgrade_marks_cancelled_requests_paid_in_full(make: Make) -> None:
    full, part, completed = make(), make(), make()
    for request, tenths in ((full, 10), (part, 9)):
        cancel_request(request.pk, actor="test")
        pay(request, tenths)
    pay(completed, 10)
    PaymentRequest.objects.update(success_sent=False)
    [operation] = import_module("payments.migrations.0024_mark_sent_successes").Migration.operations
    with connection.cursor() as cursor:
        cursor.execute(operation.sql)
    assert [fresh(each).success_sent for each in (full, part, completed)] == [True, False, False]
    pay(part, 1)
    assert fresh(part).success_sent


def test_reorged_part_is_due_again(make: Make) -> None:
    request = make()
    payment = pay(request, 4)
    flag_reorged(payment)
    flag_reorged(payment)
    assert (fresh(request).amount_remaining, fresh(request).amount_reorged) == (10 * UNIT, 4 * UNIT)
    pay(request, 6)
    assert fresh(request).status == "active"
    assert clear_reorged(payment)
    assert not clear_reorged(payment)
    back = fresh(request)
    assert (back.status, back.amount_remaining, back.can_be_accepted) == ("active", 0, True)
    assert [body["data"]["object"].get("reorged") for body in bodies(request)] == [None, True, None, False]
    with pytest.raises(ApiError) as refused:
        require_payable(back, timezone.now(), allow_parallel=True)
    assert refused.value.problems[0].code == ErrorCode.PAYMENT_REQUEST_NOT_ACTIVE


def test_reorged_payment_is_flagged_again_with_its_own_event(make: Make) -> None:
    payment = pay(make(), 10)
    for _ in range(2):
        flag_reorged(payment)
        clear_reorged(payment)
    assert [body["data"]["object"]["reorged"] for body in bodies(payment.request)[1:]] == [True, False] * 2


def rate(value: str) -> Callable[..., Rate]:
    return lambda token, currency: Rate(Fraction(value), currency, "USDC", ("a", "b"), timezone.now())


def late(make: Make, merchant: Merchant) -> PaymentRequest:
    Merchant.objects.filter(pk=merchant.pk).update(email="owner@shop.example")
    request = make("order-7")
    price(request)
    expire(request)
    pay(request, 10)
    return fresh(request)


def test_merchant_is_mailed_once_with_both_rates(make: Make, merchant: Merchant) -> None:
    request = late(make, merchant)
    assert late_payments.mail_merchants(rate_of=rate("0.80")) == 1
    assert late_payments.mail_merchants(rate_of=rate("0.80")) == 0
    letter = Mail.objects.get()
    assert letter.recipient == "owner@shop.example"
    for text in (
        "10.50 USDC",
        request.shortcode,
        "order-7",
        "10.00 EUR",
        "1 USDC = 0.95 EUR",
        "1 USDC = 0.8 EUR",
    ):
        assert text in letter.text, text


def test_payment_in_time_that_completes_a_late_part_is_mailed(make: Make) -> None:
    request = make()
    price(request)
    end = expire(request)
    pay(request, 6)
    assert fresh(request).late_price_mail_at is None
    pay(request, 4, at=end)
    waiting = fresh(request)
    assert (waiting.status, waiting.can_be_accepted) == ("expired", True)
    assert waiting.late_price_mail_at is not None


def test_refunded_late_payment_is_not_mailed(make: Make, merchant: Merchant) -> None:
    refund(late(make, merchant))
    assert late_payments.mail_merchants(rate_of=rate("1")) == 0
    assert not Mail.objects.exists()


def test_operator_is_alerted_of_refund_that_was_reorganised(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    request = make()
    pay(request, 10)
    made = refund(request)
    assert made.carrier is not None
    sent = credit(made.carrier, made.amount)
    flag_reorged(sent)
    flag_reorged(sent)
    alerts = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert alerts == [
        f"payment {sent.pk} sent a refund, but its block was reorganised away: the refund has failed"
    ]
    assert (fresh(request).net, events(request)[-1]) == (10 * UNIT, "refund.failed")


def test_mail_that_fails_is_retried_and_delays_no_other(
    make: Make, merchant: Merchant, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders = [late(make, merchant), late(make, merchant)]
    letter_of, written = late_payments._letter, []

    def broken_once(request: PaymentRequest, rate_of: late_payments.RateOf) -> str:
        written.append(request.pk)
        if len(written) == 1:
            raise ValueError("a letter that can't be written")
        return letter_of(request, rate_of)

    monkeypatch.setattr(late_payments, "_letter", broken_once)
    assert late_payments.mail_merchants(rate_of=rate("1")) == 1
    assert late_payments.mail_merchants(rate_of=rate("1")) == 1
    assert Mail.objects.count() == len(orders)


def test_line_break_in_merchants_name_adds_no_header(make: Make, merchant: Merchant) -> None:
    late(make, merchant)
    Merchant.objects.filter(pk=merchant.pk).update(name="Alice\nBcc: all@example.com")
    assert late_payments.mail_merchants(rate_of=rate("1")) == 1
    send_due()
    [letter] = mail.outbox
    assert letter.subject == "[TEST] Alice Bcc: all@example.com: a payment came after its price expired"
    assert letter.recipients() == ["owner@shop.example"]


def test_merchant_accepts_only_transfers_to_their_own_wallet(
    make: Make, other_merchant: Merchant, merchant: Merchant
) -> None:
    make(owner=other_merchant)
    request = make()
    unbound = fail(request, FailureCode.TRANSACTION_NOT_BOUND)
    with pytest.raises(ApiError) as refused:
        accept_payment(unbound, reason="mine", actor="test")
    assert refused.value.problems[0].code == ErrorCode.RECIPIENT_INVALID
    unbound.refresh_from_db()
    assert (unbound.status, unbound.accepted_by) == ("failed", "")
    AllowedRecipient.objects.create(merchant=merchant, chain_type="evm", address=request.recipient_address)
    assert accept_payment(unbound, reason="mine", actor="test").status == "pending"


def test_first_merchant_accepts_transfers_to_shared_wallet(make: Make, other_merchant: Merchant) -> None:
    request = make()
    make(owner=other_merchant)
    unbound = fail(request, FailureCode.TRANSACTION_NOT_BOUND)
    assert accept_payment(unbound, reason="mine", actor="test").status == "pending"
