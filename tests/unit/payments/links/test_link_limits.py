"""The requests that count towards a link's `max_payments`: each row of the table in docs/payment-links.md."""

import re
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from django.db import connection, transaction

from chains.models import Token
from config.api.errors import ApiError, ErrorCode
from merchants.models import Merchant
from payments.attention import Matter, requests_with
from payments.links.orders import link_order
from payments.links.services import NewLink, change_link, create_link
from payments.models import Payment, PaymentLink, PaymentRequest
from payments.requests import link_limits
from payments.requests.creation import create_request
from payments.requests.lifecycle import cancel_request
from payments.requests.link_limits import Reason, payments_counts, why_closed
from payments.submission.merchant_acceptance import accept_payment
from payments.verification.finality import flag_reorged
from tests.support.payments.credits import CUSTOMER, PRICE, credit, expire, refund

pytestmark = pytest.mark.django_db

PAGE = Path(__file__).resolve().parents[4] / "docs/payment-links.md"
AMOUNT = 10_000_000


@pytest.fixture
def link(merchant: Merchant, usdc: Token) -> PaymentLink:
    new = NewLink("Seats", usdc, "0x70997970C51812dc3A010C7d01b50e0d17dc79C8", AMOUNT, max_payments=1)
    return create_link(merchant, new, actor="test")


def open_request(link: PaymentLink) -> PaymentRequest:
    return create_request(link.merchant, link_order(link, None), actor="test")


def is_open(link: PaymentLink) -> bool:
    """Whether the link accepts another request. If it does, creates one."""
    try:
        with transaction.atomic():
            open_request(link)
    except ApiError as error:
        if error.problems[0].code != ErrorCode.LINK_INACTIVE:
            raise
        return False
    return True


def counted(link: PaymentLink) -> int:
    return payments_counts([link])[link.pk]


def with_price(request: PaymentRequest) -> None:
    PaymentRequest.objects.filter(pk=request.pk).update(price=PRICE)


def open_nothing_paid(request: PaymentRequest) -> None:
    assert request.status == "active"


def open_paid_in_part(request: PaymentRequest) -> None:
    credit(request, AMOUNT // 2)


def open_reversed(request: PaymentRequest) -> None:
    flag_reorged(credit(request, AMOUNT // 2))


def ended_unpaid(request: PaymentRequest) -> None:
    expire(request)


def ended_paid_in_part(request: PaymentRequest) -> None:
    credit(request, AMOUNT // 2)
    expire(request)


def cancelled_paid_in_full(request: PaymentRequest) -> None:
    cancel_request(request.pk, actor="test")
    credit(request, AMOUNT)


def completed(request: PaymentRequest) -> None:
    credit(request, AMOUNT)


def completed_late(request: PaymentRequest) -> None:
    expire(request)
    credit(request, AMOUNT)


def completed_then_refunded(request: PaymentRequest) -> None:
    credit(request, AMOUNT)
    made = refund(request)
    assert made.carrier is not None
    credit(made.carrier, made.amount)


def paid_after_the_price(request: PaymentRequest) -> None:
    with_price(request)
    expire(request)
    credit(request, AMOUNT)


SITUATIONS: dict[str, Callable[[PaymentRequest], None]] = {
    "open, nothing paid": open_nothing_paid,
    "open, paid in part": open_paid_in_part,
    "open, its only payment reversed by a reorganisation": open_reversed,
    "expired or cancelled, nothing paid": ended_unpaid,
    "expired or cancelled, paid in part": ended_paid_in_part,
    "cancelled, paid in full": cancelled_paid_in_full,
    "completed": completed,
    "completed late": completed_late,
    "completed, then refunded in part or in full": completed_then_refunded,
    "paid in full after its price expired, not accepted yet": paid_after_the_price,
}


def rows_of_the_page() -> dict[str, bool]:
    """Return whether each case counts, according to the page."""
    table = PAGE.read_text().split("| the link's request | counts |")[1].split("\n\n")[0]
    rows = re.findall(r"^\| ([^|]+?) \| (yes|no) \|", table, re.MULTILINE)
    return {re.sub(r"\[(.*?)\]\(.*?\)", r"\1", name): answer == "yes" for name, answer in rows}


def test_page_lists_the_tested_situations() -> None:
    assert rows_of_the_page().keys() == SITUATIONS.keys()


@pytest.mark.parametrize("situation", SITUATIONS)
def test_request_counts_as_the_page_says(link: PaymentLink, situation: str) -> None:
    counts = rows_of_the_page()[situation]
    SITUATIONS[situation](open_request(link))
    assert counted(link) == int(counts)
    if not counts:
        open_request(link)
        return
    assert not is_open(link)
    assert PaymentRequest.objects.filter(payment_link=link).count() == 1
    link.refresh_from_db()
    assert link.requests_count == 1


def test_acceptance_of_a_late_price_takes_a_place(link: PaymentLink) -> None:
    request = open_request(link)
    paid_after_the_price(request)
    payment = request.payments.get()
    accept_payment(payment, reason="fine", actor="test")
    assert (counted(link), why_closed(link, request.created_at)) == (1, Reason.USED_UP)


def test_payments_beyond_the_limit_are_credited_and_counted(link: PaymentLink) -> None:
    first, second, late = open_request(link), open_request(link), open_request(link)
    expire(late)
    for request in (first, second, late):
        credit(request, AMOUNT)
    statuses = set(PaymentRequest.objects.filter(payment_link=link).values_list("status", flat=True))
    assert (statuses, counted(link)) == ({"completed"}, 3)
    assert not is_open(link)


def test_payments_beyond_the_limit_need_attention_until_refunded(link: PaymentLink) -> None:
    def listed() -> list[uuid.UUID]:
        rows = requests_with(PaymentRequest.objects.all(), Matter.BEYOND_LINK, Payment.objects.all())
        return [request.pk for request in rows]

    first, second = open_request(link), open_request(link)
    credit(first, AMOUNT)
    assert listed() == []
    credit(second, AMOUNT)
    assert listed() == [second.pk]
    refund(second)
    assert listed() == []


def test_other_links_hide_no_payment_beyond_the_limit(
    link: PaymentLink, usdc: Token, other_merchant: Merchant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link_limits, "_MAX_LINKS", 1)
    new = NewLink("Mugs", usdc, link.recipient_address, AMOUNT, max_payments=1)
    unpaid, overpaid = (create_link(other_merchant, new, actor="test") for _ in range(2))
    for each in (unpaid, overpaid):
        open_request(each), open_request(each)
    for request in [open_request(link), open_request(link), *overpaid.requests.all()]:
        credit(request, AMOUNT)
    own = PaymentRequest.objects.filter(merchant=link.merchant)
    assert requests_with(own, Matter.BEYOND_LINK, Payment.objects.all()).count() == 1


def test_refund_of_an_expired_part_payment_counts_nothing(link: PaymentLink) -> None:
    request = open_request(link)
    ended_paid_in_part(request)
    made = refund(request)
    assert (made.recipient_address, counted(link)) == (CUSTOMER, 0)


@pytest.mark.django_db(transaction=True)
def test_link_switched_off_gets_no_concurrent_request(link: PaymentLink) -> None:
    """In whichever order they run, no request is created after the switch is committed."""

    def create(_: int) -> bool:
        try:
            return is_open(link)
        finally:
            connection.close()

    def switch_off() -> int:
        try:
            change_link(link, is_active=False, actor="test")
            return PaymentRequest.objects.filter(payment_link=link).count()
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as threads:
        created = [threads.submit(create, number) for number in range(10)]
        at_switch = threads.submit(switch_off).result()
        later = [threads.submit(create, number) for number in range(3)]
        assert not any(each.result() for each in later)
        number = sum(each.result() for each in created)
    assert PaymentRequest.objects.filter(payment_link=link).count() == number == at_switch
    link.refresh_from_db()
    assert link.requests_count == number
