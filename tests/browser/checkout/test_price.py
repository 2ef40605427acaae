"""A price in the merchant's currency comes first, in the customer's number format; the token's amount is beside it."""

from collections.abc import Callable
from typing import Any

from playwright.sync_api import Browser, expect
from pytest_django.live_server_helper import LiveServer

from payments.models import PaymentRequest
from tests.browsing import PHONE
from tests.pictures import picture


def test_price_is_shown_in_the_customers_format(
    checkout: Callable[..., dict[str, Any]], browser: Browser, live_server: LiveServer
) -> None:
    created = checkout(amount="27.43", description="Two loaves of rye, sliced")
    update_price(created)
    context = browser.new_context(base_url=str(live_server.url), locale="de", viewport=PHONE)
    page = context.new_page()
    page.goto(f"/pay/{created['shortcode']}")
    expect(page.locator("#price")).to_have_text("25,00\xa0€")
    expect(page.locator("#amount")).to_have_text("27,43")
    expect(page.locator("#rate")).to_have_text("1 USDC = 0,9114\xa0€")
    expect(page.locator("#countdown")).not_to_be_empty()
    picture(page, "price")
    PaymentRequest.objects.filter(pk=created["id"]).update(amount_paid=20_000_000)
    page.reload()
    expect(page.locator("#amount")).to_have_text("7,43")
    expect(page.locator("#price")).to_be_hidden()
    context.close()


def test_paid_page_shows_its_amount_beside_the_tick_alone(
    checkout: Callable[..., dict[str, Any]], browser: Browser, live_server: LiveServer
) -> None:
    created = checkout(amount="27.43")
    PaymentRequest.objects.filter(pk=created["id"]).update(status="completed", amount_paid=27_430_000)
    for has_scripts in (True, False):
        context = browser.new_context(base_url=str(live_server.url), java_script_enabled=has_scripts)
        page = context.new_page()
        page.goto(f"/pay/{created['shortcode']}")
        expect(page.locator(".paid-amount")).to_have_text("27.43 USDC")
        # The heading keeps the token's amount for screen readers.
        expect(page.get_by_role("heading", level=1)).to_contain_text("27.43 USDC")
        expect(page.locator("h1.price")).to_have_css("width", "1px")
        context.close()


def test_price_without_scripts_is_in_the_format_of_the_language(
    checkout: Callable[..., dict[str, Any]], public: Any
) -> None:
    created = checkout(amount="27.43")
    page = f"/pay/{created['shortcode']}"
    assert 'id="price"' not in public.get(page).content.decode()
    update_price(created)
    assert ">€25.00<" in public.get(page).content.decode()


def update_price(created: dict[str, Any]) -> None:
    PaymentRequest.objects.filter(pk=created["id"]).update(
        price={"currency": "EUR", "amount": "25.00"},
        rate={"value": "0.9114", "currency": "EUR", "token": "USDC", "sources": [], "observed_at": ""},
    )
