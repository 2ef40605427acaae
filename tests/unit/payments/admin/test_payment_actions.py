"""Staff actions need a confirmation and a permission. They run once, with the API's own services."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from config.admin.actions import action_url
from config.admin.portal import change_url
from payments.models import Payment, PaymentRequest, Transition
from payments.submission.hashes import submit_hash
from tests.support.payments.rows import change
from tests.support.portal.payment_rows import Make, asked, fail, press
from tests.threads import at_once

ACTIONS = ("retry", "look", "accept")


def last_change() -> tuple[str, str, str]:
    """Return the newest row of the history: from, to, actor."""
    row = Transition.objects.latest("id")
    return row.from_status, row.to_status, row.actor


def written() -> list[str]:
    return [entry.get_change_message() for entry in LogEntry.objects.order_by("pk")]


def test_cancelling_says_what_it_means_and_is_in_the_history(admin_client: Client, make: Make) -> None:
    request = make()
    url = action_url(request, "cancel")
    assert "10.50 USDC" in admin_client.get(url).content.decode()
    assert PaymentRequest.objects.get().status == "active"
    assert "is cancelled." in press(admin_client, url)
    assert PaymentRequest.objects.get().status == "cancelled"
    assert last_change() == ("active", "cancelled", "admin admin")
    assert written() == ["Cancelled (active → cancelled)."]


def test_rejection_by_the_service_is_shown_without_a_change(admin_client: Client, make: Make) -> None:
    request = make()
    submit_hash(request, chain=request.chain, transaction_hash="0x" + "ab" * 32, actor="checkout")
    assert "A payment for this request is in progress." in press(admin_client, action_url(request, "cancel"))
    assert PaymentRequest.objects.get().status == "active"
    assert written() == []


def test_a_failed_payment_is_looked_at_again(admin_client: Client, failed: Payment) -> None:
    assert "is being verified again" in press(admin_client, action_url(failed, "retry"))
    payment = Payment.objects.get()
    assert (payment.status, payment.retries) == ("pending", 1)
    assert last_change() == ("failed", "pending", "admin admin")
    assert written() == ["Retried (failed: transaction_not_found → pending)."]


def test_what_can_not_change_is_not_offered(admin_client: Client, failed: Payment) -> None:
    Payment.objects.update(failure_code="wrong_recipient")
    page = admin_client.get(change_url(failed)).content.decode()
    for name in ACTIONS:
        assert action_url(failed, name) not in page
        answer = admin_client.get(action_url(failed, name), follow=True).content.decode()
        assert "not possible in the current state" in answer
    assert Payment.objects.get().status == "failed"


@pytest.mark.parametrize(
    ("status", "code", "offered"),
    [
        ("failed", "transaction_not_found", ["retry"]),
        ("failed", "transaction_not_bound", ["accept"]),
        ("failed", "transaction_reverted", []),
        ("processing", "", []),
    ],
)
def test_simulated_payment_is_retried_and_accepted_not_checked(
    admin_client: Client, failed: Payment, status: str, code: str, offered: list[str]
) -> None:
    change(Payment.objects, status=status, failure_code=code, is_simulated=True, next_check_at=timezone.now())
    change(Payment.objects, finality_check_at=None)
    page = admin_client.get(change_url(failed)).content.decode()
    assert ">test<" in "".join(page.split())
    assert [name for name in ACTIONS if action_url(failed, name) in page] == offered


def test_check_now_verifies_and_records_the_user(admin_client: Client, make: Make) -> None:
    request = make()
    payment, _ = submit_hash(
        request, chain=request.chain, transaction_hash="0x" + "ab" * 32, actor="checkout"
    )
    later = timezone.now() + timezone.timedelta(minutes=5)
    change(Payment.objects, next_check_at=later, attempts=3)
    page = press(admin_client, action_url(payment, "look"))
    payment.refresh_from_db()
    assert payment.lookup.next_check_at is not None
    assert payment.lookup.next_check_at <= timezone.now()
    assert (payment.status, payment.attempts) == ("pending", 2), (
        "a look out of turn uses none of its attempts"
    )
    assert "Check requested (pending): brought forward." in page
    assert "admin (staff)" in page


def test_check_now_on_a_completed_payment_keeps_its_amount(admin_client: Client, failed: Payment) -> None:
    now = timezone.now()
    Payment.objects.update(status="completed", failure_code="", amount_received=5, completed_at=now)
    press(admin_client, action_url(failed, "look"))
    payment = Payment.objects.get()
    assert payment.lookup.finality_check_at is not None
    assert (payment.status, payment.amount_received) == ("completed", 5)


def test_accepting_unbound_payment_requires_a_reason(admin_client: Client, failed: Payment) -> None:
    doubt = "It may be your own money."
    Payment.objects.update(
        failure_code="transaction_not_bound", failure_message=f"It has no reference. {doubt}"
    )
    url = action_url(failed, "accept")
    assert f"It has no reference. {doubt} Accept it only if" in admin_client.get(url).content.decode()
    assert admin_client.post(url, {**asked(admin_client, url), "reason": " "}).status_code == 200, (
        "asks again"
    )
    assert Payment.objects.get().accepted_by == ""
    page = press(admin_client, url, reason="She rang us.")
    payment = Payment.objects.get()
    assert (payment.status, payment.accepted_by, payment.accepted_reason) == (
        "pending",
        "admin admin",
        "She rang us.",
    )
    assert written() == ["Accepted by hand (failed: transaction_not_bound → pending): She rang us."]
    assert "admin (staff) · accepted: She rang us." in page


@pytest.mark.parametrize("name", ["cancel", "retry", "accept"])
def test_a_second_click_does_nothing(admin_client: Client, make: Make, failed: Payment, name: str) -> None:
    if name == "accept":
        Payment.objects.update(failure_code="transaction_not_bound")
    row: Any = make("order-2") if name == "cancel" else failed
    url = action_url(row, name)
    answer = {**asked(admin_client, url), "reason": "She rang us."}
    admin_client.post(url, answer)
    changes, lines = Transition.objects.count(), LogEntry.objects.count()
    again = admin_client.post(url, answer, follow=True).content.decode()
    assert "Nothing was done" in again
    assert (Transition.objects.count(), LogEntry.objects.count()) == (changes, lines) == (changes, 1)


def test_a_stale_page_does_nothing(admin_client: Client, make: Make) -> None:
    request = make()
    url = action_url(request, "cancel")
    answer = asked(admin_client, url)
    PaymentRequest.objects.update(amount_paid=1)
    assert "has changed in the meantime" in admin_client.post(url, answer, follow=True).content.decode()
    assert admin_client.post(url, {}, follow=True).status_code == 200, "nor does an answer to no question"
    assert PaymentRequest.objects.get().status == "active"


@pytest.mark.django_db(transaction=True)
def test_the_same_click_many_times_at_once_is_done_once(admin_user: User, make: Make) -> None:
    payment = fail(make())
    url = action_url(payment, "retry")

    def client() -> Client:
        one = Client()
        one.force_login(admin_user)
        return one

    answer = asked(client(), url)
    clients = [client() for _ in range(12)]
    at_once([lambda one=one: one.post(url, answer).status_code for one in clients])
    assert Payment.objects.get().retries == 1
    assert LogEntry.objects.count() == 1
    assert Transition.objects.filter(from_status="failed").count() == 1
