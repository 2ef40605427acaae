"""A request with a price in euros, from the API or the shop, is shown, paid with the demo wallet and completed."""

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
import requests
from playwright.sync_api import Page, expect

from demo.services.anvil import MERCHANT_ADDRESS
from tests.browser.local_world.conftest import World
from tests.browser.local_world.paying import chain_named, connect_demo_wallet, create_request, read_request
from tests.pictures import picture
from tests.processes import eventually

PRICE = {"currency": "EUR", "amount": "25.00"}


@pytest.fixture
def switches(world: World) -> Iterator[str]:
    """The URL of the rate sources' switches. They are reset before and after the test."""
    requests.delete(world.rates, timeout=30).raise_for_status()
    yield world.rates
    requests.delete(world.rates, timeout=30).raise_for_status()


def create_priced(world: World, **different: Any) -> dict[str, Any]:
    chain = chain_named(world, "Local Chain")
    return create_request(world, chain, MERCHANT_ADDRESS, amount=None, price=PRICE, **different)


@pytest.mark.usefixtures("switches")
def test_price_in_euros_is_shown_first_and_paid_in_tokens(
    world: World, page: Page, troubles: list[str]
) -> None:
    request = create_priced(world)
    assert request["rate"]["sources"] == ["coinbase", "feeds:31337", "kraken"]
    due = Decimal(request["amount"]["formatted"])
    assert due == 27  # exactly EUR 25.00 at the rate 1.08
    panel = connect_demo_wallet(page, request)
    price, amount = page.locator("#price"), page.locator("#amount")
    expect(price).to_have_text("€25.00")
    expect(amount).to_contain_text(f"{due:.2f}")
    places = {each: each.bounding_box() or {"y": 0.0} for each in (price, amount)}
    assert places[price]["y"] < places[amount]["y"]
    picture(page, "priced, review")
    panel.get_by_role("button", name="Pay 27").click()
    page.get_by_test_id("demo-wallet-confirm").click()
    expect(panel.get_by_role("heading", name="Payment complete")).to_be_visible(timeout=180_000)
    paid = read_request(world, request)
    assert (paid["status"], paid["price"], paid["rate"]) == ("completed", PRICE, request["rate"])
    assert paid["amount_paid"] == request["amount"]

    def value() -> Any:
        (payment,) = read_request(world, request)["payments"]
        return payment["value"]

    eventually(lambda: value() is not None, "the payment was valued", 30)
    assert (value()["currency"], value()["estimated"]) == ("USD", False)
    assert not [trouble for trouble in troubles if "favicon" not in trouble], troubles


def test_shop_takes_an_order_in_euros_once_rates_are_back(world: World, page: Page, switches: str) -> None:
    requests.post(switches, json={"feeds": "frozen", "coinbase": "down"}, timeout=30).raise_for_status()

    def is_rejected() -> bool:
        page.goto(world.shop)
        page.get_by_role("button", name="Pay with crypto: Tide table for the wall").click()
        page.wait_for_url(re.compile("/orders/|/pay/"))
        return "/orders/" in page.url

    eventually(is_rejected, "no two sources agreed", 30)  # cached rates are used for a few seconds
    expect(page.get_by_role("alert")).to_contain_text("could not be opened")
    requests.delete(switches, timeout=30).raise_for_status()

    def is_taken() -> bool:
        page.get_by_role("button", name="Go to payment").click()
        page.wait_for_url(re.compile("unavailable|/pay/"))
        return "/pay/" in page.url

    eventually(is_taken, "the sources that had failed were queried again", 60)
    expect(page.locator("#price")).to_have_text("€25.00")
