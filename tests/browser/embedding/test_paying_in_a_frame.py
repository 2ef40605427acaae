"""A customer pays on a real chain, inside a shop's page, with a wallet that works in frames."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Frame, Page, expect

from payments.models import Payment, PaymentRequest
from tests.chain import LocalChain
from tests.processes import eventually
from tests.support.embedding.shop import Shop
from tests.support.embedding.wallets import give_wallet
from tests.support.payments.world import Clock, look_until_decided

Create = Callable[..., dict[str, Any]]


@pytest.fixture
def request_(page: Page, shop: Shop, create: Create, local_chain: LocalChain) -> dict[str, Any]:
    """A request whose checkout is open in the shop's page and shows the wallet's prompt."""
    request = create()
    give_wallet(page, local_chain)
    page.goto(shop.sell(request["payment_url"]))
    page.get_by_role("link", name="Pay with crypto").click()
    panel = page.frame_locator("iframe").locator("#panel")
    panel.get_by_role("button", name="Ledger Book").click()
    panel.get_by_role("button", name="Pay 10.50 USDC").click()
    expect(page.frame_locator("iframe").locator("#checkout")).to_have_attribute("data-screen", "confirming")
    return request


def inside(page: Page) -> Frame:
    return next(frame for frame in page.frames if "/pay/" in frame.url)


def test_closed_dialog_follows_the_payment_to_its_end(page: Page, request_: dict[str, Any]) -> None:
    page.get_by_role("button", name="Close the payment").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.locator("iframe")).to_have_count(1)
    inside(page).evaluate("confirmInWallet()")
    eventually(lambda: Payment.objects.count() == 1 and page.title() != "", "the hash was submitted", 10)
    expect(page.locator("iframe")).to_have_count(1)  # stays open until the network has seen the payment
    assert look_until_decided(Payment.objects.get(), Clock()).status == "completed"
    inside(page).evaluate("dispatchEvent(new Event('online'))")
    expect(page.locator("iframe")).to_have_count(0)
    events = page.evaluate("events")
    statuses = [progress["status"] for name, progress in events if name == "status"]
    assert statuses == ["active", "processing", "completed"]
    assert [name for name, _ in events].count("completed") == 1
    assert PaymentRequest.objects.get(pk=request_["id"]).status == "completed"
