"""A request's page shows the remaining amount without reorganised payments, and the amount that counts so far."""

import html
import re

import pytest
from django.test import Client

from payments.models import PaymentRequest
from payments.verification.finality import clear_reorged, flag_reorged
from tests.conftest import Api
from tests.support.payments.credits import credit
from tests.support.portal.payment_rows import SENDER, Make

pytestmark = pytest.mark.django_db

PART = 4_000_000
"""Of the 10.50 USDC that `make` asks for, in base units."""


def page_of(request: PaymentRequest) -> str:
    page = Client().get(f"/pay/{request.shortcode}")
    assert page.status_code == 200
    return page.content.decode()


def text_of(page: str) -> str:
    return html.unescape(re.sub("[\u2066-\u2069]|<[^>]*>", "", page))


def test_reorganised_part_is_not_shown_as_received(make: Make) -> None:
    request = make()
    lost = credit(request, PART)
    assert "4.00 of 10.50 USDC received, 6.50 to go" in text_of(page_of(request))
    flag_reorged(lost)
    page = page_of(request)
    assert 'data-state="active"' in page
    assert "of 10.50 USDC received" not in text_of(page)
    credit(request, 1_000_000)
    page = page_of(request)
    assert "1.00 of 10.50 USDC received, 9.50 to go" in text_of(page)
    assert 'max="10500000" value="1000000"' in page


def test_page_of_request_paid_in_full_again_asks_for_nothing(make: Make) -> None:
    request = make()
    lost = credit(request, PART)
    flag_reorged(lost)
    credit(request, 6_500_000)
    clear_reorged(lost)
    request.refresh_from_db()
    assert (request.status, request.can_be_accepted) == ("active", True)
    shown = Client().get(f"/api/public/payment-requests/{request.pk}").json()
    assert (shown["is_available"], shown["amount_remaining"]["raw"]) == (False, "0")
    page = page_of(request)
    assert 'data-screen="unavailable"' in page
    text = text_of(page)
    assert "Please don\u2019t send anything now." in text
    assert "10.50 of 10.50 USDC arrived. Contact" in text
    assert "Payments in USDC" not in text
    assert "0.00 USDC" not in text
    assert 'id="scan"' not in page
    routes = Api().post(
        f"/api/public/payment-requests/{request.pk}/routes",
        {"wallet_address": SENDER, "chain_id": request.chain_id, "token_id": request.token_id},
    )
    assert routes.json()["error"]["code"] == "payment_request_not_active"
