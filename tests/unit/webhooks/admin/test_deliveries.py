"""Webhooks in the portal: staff with the permission see events and deliveries, and can send them again."""

from collections.abc import Iterator
from datetime import timedelta
from functools import partial

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection, transaction
from django.db.models import Model
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from config.admin.actions import action_url
from merchants.models import Merchant
from payments.models import Payment
from payments.requests.events import record_expired, record_failed
from tests.support.portal.payment_rows import Make, asked, found, page_of, press
from tests.support.webhooks.delivering import deliver_next
from tests.support.webhooks.receiver import Receiver, answer, running_receiver
from webhooks.attention import count_failed
from webhooks.dispatch.testing import record_test_event, send_test_event
from webhooks.endpoints.configuration import Change, configure
from webhooks.event_types import EventType
from webhooks.events import record_event
from webhooks.models import Delivery, Endpoint, Event

LIST = "/admin/webhooks/delivery/"


@pytest.fixture
def receiver(merchant: Merchant) -> Iterator[Receiver]:
    """Alice's server, whose URL is that of her endpoint."""
    with running_receiver() as running:
        configure(merchant, Change(url=running.url))
        yield running


@pytest.fixture
def delivery(receiver: Receiver, failed: Payment) -> Delivery:
    """A delivery about a failed payment, to which the receiver has returned 500 once."""
    receiver.answers = [answer(500, b"<b>out of order</b>")]
    record_failed(failed.request, failed)
    assert deliver_next()
    return Delivery.objects.get()


def give_up(delivery: Delivery) -> None:
    Delivery.objects.filter(pk=delivery.pk).update(status="failed", due_at=None, finished_at=timezone.now())


def test_delivery_page_shows_attempts_and_readable_body(admin_client: Client, delivery: Delivery) -> None:
    page = page_of(admin_client, "webhooks/delivery", delivery.pk)
    for part in (
        "1 attempt so far; the next is due in",
        "Answered 500 instead of a 2xx status.",
        "&lt;b&gt;out of order&lt;/b&gt;",
        "&quot;type&quot;: &quot;payment.failed&quot;,\n",
        delivery.public_event_id,
    ):
        assert part in page, part
    listed = page_of(admin_client, "webhooks/delivery")
    assert "500" in listed
    assert "1 attempt" in listed


def test_failed_test_event_is_not_offered_for_redelivery(
    admin_client: Client, receiver: Receiver, merchant: Merchant
) -> None:
    receiver.answers = [answer(500)]
    record_test_event(send_test_event(merchant, EventType.PAYMENT_SUCCEEDED))
    test = Delivery.objects.get(status=Delivery.Status.FAILED)
    page = page_of(admin_client, "webhooks/delivery", test.pk)
    assert "The test event was not delivered" in page
    assert "send it again" not in page
    assert count_failed(Delivery.objects.all(), timezone.now()) == 0


def test_search_finds_events_and_deliveries_by_their_object(
    admin_client: Client, delivery: Delivery, failed: Payment, make: Make
) -> None:
    record_expired(make("order-2"))
    for text in (
        delivery.public_event_id,
        failed.pk,
        failed.transaction_hash.upper(),
        failed.request.shortcode,
        str(failed.request_id),
    ):
        assert found(Delivery, text) == {delivery.pk}, text
        assert found(Event, text) == {delivery.event_id}, text
    assert found(Delivery, delivery.pk) == {delivery.pk}
    assert found(Delivery, "order-9") == set()
    assert delivery.pk in page_of(admin_client, "webhooks/delivery", q=failed.pk)


@pytest.mark.parametrize("model", [Endpoint, Event, Delivery])
def test_any_search_text_returns_a_page(delivery: Delivery, model: type[Model]) -> None:
    for text in ("%", "'", "\\", "x" * 5000, "evt_", "del_%", "http://["):
        found(model, text)


@pytest.mark.parametrize("model", ["event", "delivery"])
def test_list_query_count_does_not_grow_with_its_length(
    admin_client: Client, receiver: Receiver, merchant: Merchant, model: str
) -> None:
    def questions() -> int:
        with CaptureQueriesContext(connection) as queries:
            page_of(admin_client, f"webhooks/{model}")
        return len(queries)

    def another(number: int) -> None:
        record_event(merchant=merchant, type="payment.failed", dedupe_key=f"k{number}", data={})
        deliver_next()

    another(0)
    page_of(admin_client, f"webhooks/{model}")
    one = questions()
    for number in range(1, 6):
        another(number)
    assert questions() == one


def test_delivery_is_resent_after_confirmation(
    admin_client: Client, delivery: Delivery, receiver: Receiver
) -> None:
    give_up(delivery)
    first = receiver.received[-1]
    url = action_url(delivery, "resend")
    assert receiver.url in admin_client.get(url).content.decode()
    assert Delivery.objects.get().status == "failed"
    page = press(admin_client, url)
    assert "is being sent" in page
    assert "by admin admin" in page
    assert deliver_next()
    assert receiver.received[-1].body == first.body
    delivery = Delivery.objects.get()
    assert (delivery.status, delivery.attempts, delivery.redelivered_by) == ("delivered", 2, "admin admin")
    assert LogEntry.objects.get().get_change_message() == "Sent again (failed → pending)."


def test_a_second_click_sends_nothing_more(
    admin_client: Client, delivery: Delivery, receiver: Receiver
) -> None:
    give_up(delivery)
    url = action_url(delivery, "resend")
    form = asked(admin_client, url)
    admin_client.post(url, form)
    deliver_next()
    sent = len(receiver.received)
    assert "Nothing was done" in admin_client.post(url, form, follow=True).content.decode()
    assert not deliver_next()
    assert len(receiver.received) == sent
    assert LogEntry.objects.count() == 1


def test_a_test_call_is_not_sent_again(admin_client: Client, delivery: Delivery) -> None:
    give_up(delivery)
    Delivery.objects.update(is_test=True)
    assert action_url(delivery, "resend") not in page_of(admin_client, "webhooks/delivery", delivery.pk)


def chosen(client: Client, *deliveries: Delivery) -> dict[str, object]:
    """Select these in the list; return the confirmation page's form."""
    ticked = {"action": "resend_selected", "_selected_action": [row.pk for row in deliveries]}
    page = client.post(LIST, ticked)
    assert page.status_code == 200
    form = page.context["form"]
    return {name: form[name].value() for name in form.fields}


def test_chosen_deliveries_are_resent_once_each(
    admin_client: Client, delivery: Delivery, receiver: Receiver, merchant: Merchant
) -> None:
    record_event(merchant=merchant, type="payment.failed", dedupe_key="other", data={})
    record_event(merchant=merchant, type="payment.failed", dedupe_key="third", data={})
    rows = list(Delivery.objects.order_by("created_at"))
    for row in rows:
        give_up(row)
    form = chosen(admin_client, rows[0], rows[1])
    assert Delivery.objects.filter(status="failed").count() == 3, "asked, and nothing done yet"
    assert "2 deliveries are being sent." in admin_client.post(LIST, form, follow=True).content.decode()
    assert [Delivery.objects.get(pk=row.pk).status for row in rows] == ["pending", "pending", "failed"]
    again = admin_client.post(LIST, form, follow=True).content.decode()
    assert "2 changed in the meantime and were not sent again." in again
    assert LogEntry.objects.count() == 2


def test_chosen_deliveries_rejected_by_the_service_are_shown(
    admin_client: Client, delivery: Delivery
) -> None:
    give_up(delivery)
    form = chosen(admin_client, delivery)
    Endpoint.objects.update(url=None)
    assert "No webhook URL is set" in admin_client.post(LIST, form, follow=True).content.decode()
    assert Delivery.objects.get().status == "failed"
    assert not LogEntry.objects.exists()


@pytest.mark.parametrize(
    ("state", "changes", "sentence"),
    [
        ("enabled", {}, "Nothing was delivered to it in the last 30 days"),
        ("failing", {"failing_since": timezone.now() - timedelta(hours=3)}, "Every attempt has failed since"),
        (
            "disabled",
            {"is_enabled": False, "disabled_reason": "Five days of failures."},
            "Disabled by the service: Five days of failures.",
        ),
        ("off", {"is_enabled": False}, "Disabled by the merchant."),
        ("no url", {"url": None}, "No URL is set"),
    ],
)
def test_an_endpoints_page_says_first_whether_it_works(
    admin_client: Client, receiver: Receiver, state: str, changes: dict[str, object], sentence: str
) -> None:
    Endpoint.objects.update(**changes)
    page = page_of(admin_client, "webhooks/endpoint", Endpoint.objects.get().pk)
    assert sentence in page
    assert ('role="alert"' in page) == (state in ("failing", "disabled", "off"))
    assert f">{state}<" in "".join(page_of(admin_client, "webhooks/endpoint").split("\n")).replace("  ", "")
    assert "whsec_" not in page


def test_endpoint_page_shows_its_last_success_alone(
    admin_client: Client, delivery: Delivery, receiver: Receiver
) -> None:
    page = partial(page_of, admin_client, "webhooks/endpoint", Endpoint.objects.get().pk)
    Endpoint.objects.update(failing_since=None)
    ended = {"finished_at": "2026-07-01T12:00:00Z", "due_at": None}
    Delivery.objects.update(status="failed", **ended)
    assert "The last successful delivery" not in page()
    Delivery.objects.update(status="delivered", url_override="https://shop.example/own", **ended)
    assert "The last successful delivery" not in page()
    Delivery.objects.update(url_override="")
    assert "The last successful delivery was 1 Jul 2026, 12:00:00 UTC" in page()


def test_a_held_delivery_says_what_it_waits_for(admin_client: Client, delivery: Delivery) -> None:
    Endpoint.objects.update(is_enabled=False)
    assert "On hold: the endpoint is disabled" in page_of(admin_client, "webhooks/delivery", delivery.pk)


def test_the_story_of_a_payment_has_its_events_and_each_attempt(
    admin_client: Client, delivery: Delivery, failed: Payment, receiver: Receiver
) -> None:
    press(admin_client, action_url(delivery, "resend"))
    assert deliver_next()
    for model, pk in (("payment", failed.pk), ("paymentrequest", failed.request_id)):
        page = page_of(admin_client, f"payments/{model}", pk)
        order = [
            page.index(part)
            for part in (
                "Payment submitted",
                "Event payment.failed",
                "Webhook payment.failed answered 500",
                "payment.failed is sent again",
                "Webhook payment.failed answered 200",
            )
        ]
        assert order == sorted(order), "in the order in which it happened"


def test_history_shows_only_its_own_requests_events(
    admin_client: Client, delivery: Delivery, make: Make
) -> None:
    other = make("order-2")
    with transaction.atomic():
        record_expired(other)
    page = page_of(admin_client, "payments/paymentrequest", other.pk)
    assert "Event payment.expired" in page
    assert "payment.failed" not in page
    assert Event.objects.count() == 2
