"""Each user sees the portal's dates in a time zone of the user's choice. The default is UTC."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from merchants.models import PortalPreferences
from payments.models import Payment, PaymentRequest
from tests.unit.payments.admin.test_payments import page_of

PAGE = "/admin/time-zone/"
Staff = Callable[..., Client]


@pytest.fixture
def at_noon(failed: Payment) -> PaymentRequest:
    PaymentRequest.objects.update(created_at="2026-07-01T12:00:00Z")
    return failed.request


def test_dates_are_utc_except_for_users_who_choose_a_zone(
    admin_client: Client, staff: Staff, at_noon: PaymentRequest
) -> None:
    assert "1 Jul 2026, 12:00:00 UTC" in page_of(admin_client, "payments/paymentrequest", at_noon.pk)
    saved = admin_client.post(PAGE, {"time_zone": "Asia/Tokyo"}, follow=True)
    assert "Dates and times are now shown in Asia/Tokyo." in saved.content.decode()
    assert "1 Jul 2026, 21:00:00 Asia/Tokyo" in page_of(admin_client, "payments/paymentrequest", at_noon.pk)
    listed = page_of(admin_client, "payments/paymentrequest")
    assert "Created (Asia/Tokyo)" in listed
    assert "1 Jul 2026, 21:00" in listed
    other = staff("payments.view_paymentrequest")
    assert "1 Jul 2026, 12:00:00 UTC" in page_of(other, "payments/paymentrequest", at_noon.pk)


def test_days_of_a_filter_are_days_of_the_zone(admin_client: Client, at_noon: PaymentRequest) -> None:
    PaymentRequest.objects.update(created_at="2026-07-01T20:00:00Z")
    asked = {"created_at_from": "2026-07-02", "created_at_to": "2026-07-02"}
    assert at_noon.shortcode not in page_of(admin_client, "payments/paymentrequest", **asked)
    admin_client.post(PAGE, {"time_zone": "Asia/Tokyo"})
    assert at_noon.shortcode in page_of(admin_client, "payments/paymentrequest", **asked)


@pytest.mark.parametrize("name", ["Mars/Olympus", "../etc/passwd", "", "Etc/GMT+5"])
def test_what_is_no_zone_is_refused(admin_client: Client, name: str) -> None:
    assert admin_client.post(PAGE, {"time_zone": name}).status_code == 200
    assert not PortalPreferences.objects.exists()


def test_a_zone_that_the_server_no_longer_knows_counts_as_utc(
    admin_client: Client, admin_user: Any, at_noon: PaymentRequest
) -> None:
    PortalPreferences.objects.create(user=admin_user, time_zone="Mars/Olympus")
    assert "12:00:00 UTC" in page_of(admin_client, "payments/paymentrequest", at_noon.pk)


def test_the_page_is_for_users_who_are_signed_in(client: Client, db: None) -> None:
    assert "/login/" in client.get(PAGE)["Location"]
