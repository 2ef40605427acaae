"""The checkout in a dialog over a shop's page, by mouse and keyboard, and the events that the shop receives."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import FrameLocator, Page, expect

from payments.models import PaymentRequest
from tests.browsing import PHONE, resting_box
from tests.pictures import picture
from tests.processes import eventually
from tests.support.embedding.shop import Shop

Create = Callable[..., dict[str, Any]]


@pytest.fixture
def request_(create: Create) -> dict[str, Any]:
    return create(redirect_url="https://shop.example/thanks", cancel_url="https://shop.example/basket")


def opened(page: Page, shop: Shop, request: dict[str, Any]) -> FrameLocator:
    """Open the shop and press its button; return the checkout's frame once it has loaded."""
    page.goto(shop.sell(request["payment_url"]))
    page.get_by_role("link", name="Pay with crypto").click()
    frame = page.frame_locator("iframe")
    expect(frame.locator("#amount")).to_have_text("10.50")
    expect(page.locator("iframe")).to_be_focused()
    return frame


def events(page: Page, name: str) -> list[Any]:
    """Return the shop's events of this name so far."""
    return [progress for event, progress in page.evaluate("events") if event == name]


def settle(page: Page, request: dict[str, Any], **change: Any) -> None:
    """Change the stored request; have the checkout poll."""
    PaymentRequest.objects.filter(pk=request["id"]).update(**change)
    page.frames[1].evaluate("dispatchEvent(new Event('online'))")


def test_dialog_opens_over_the_page_and_reports_the_status(
    page: Page, shop: Shop, request_: dict[str, Any], troubles: list[str]
) -> None:
    opened(page, shop, request_)
    expect(page.get_by_role("dialog", name="Payment")).to_be_visible()
    expect(page.locator("iframe")).to_have_attribute("title", "Payment")
    picture(page, "embedded, over the shop's page")
    eventually(lambda: events(page, "status"), "the shop got the event", 10)
    assert events(page, "status") == [{"paymentRequestId": request_["id"], "status": "active"}]
    assert page.url.startswith(shop.origin)
    assert troubles == []


def test_close_button_restores_the_shops_page(page: Page, shop: Shop, request_: dict[str, Any]) -> None:
    opened(page, shop, request_)
    page.mouse.move(100, 400)
    page.mouse.wheel(0, 600)
    assert page.evaluate("scrollY") == 0
    page.get_by_role("button", name="Close the payment").click()
    expect(page.get_by_role("link", name="Pay with crypto")).to_be_focused()
    expect(page.locator("iframe")).to_have_count(0)
    eventually(lambda: events(page, "closed"), "the shop got the event", 10)
    assert events(page, "closed") == [{"paymentRequestId": request_["id"], "status": "active"}]
    page.mouse.wheel(0, 600)
    eventually(lambda: page.evaluate("scrollY") > 0, "the page scrolled", 10)


@pytest.mark.parametrize("focused", ["button", "frame"])
def test_escape_closes_the_dialog_from_any_focus(
    page: Page, shop: Shop, request_: dict[str, Any], focused: str
) -> None:
    frame = opened(page, shop, request_)
    if focused == "button":
        page.get_by_role("button", name="Close the payment").focus()
    else:
        frame.locator("summary").first.focus()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("link", name="Pay with crypto")).to_be_focused()


def test_tab_key_stays_in_the_dialog(page: Page, shop: Shop, request_: dict[str, Any]) -> None:
    opened(page, shop, request_)
    for _ in range(20):
        page.keyboard.press("Tab")
        behind = page.evaluate("document.activeElement.closest('a, button') !== null")
        assert not behind, "the page behind the dialog has the keyboard"


def test_cancel_link_in_the_checkout_closes_the_dialog(
    page: Page, shop: Shop, request_: dict[str, Any]
) -> None:
    frame = opened(page, shop, request_)
    frame.get_by_role("link", name="without paying").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert page.url.startswith(shop.origin)


def test_completion_is_reported_once_to_the_shop(page: Page, shop: Shop, request_: dict[str, Any]) -> None:
    frame = opened(page, shop, request_)
    settle(page, request_, status="completed", amount_paid=10_500_000)
    expect(frame.get_by_role("heading", name="Payment complete")).to_be_visible()
    picture(page, "embedded, complete")
    eventually(lambda: events(page, "completed"), "the shop got the event", 10)
    assert events(page, "completed") == [{"paymentRequestId": request_["id"], "status": "completed"}]
    assert [progress["status"] for progress in events(page, "status")] == ["active", "completed"]
    page.evaluate("opened.close()")
    eventually(lambda: events(page, "closed"), "the shop got the event", 10)
    assert events(page, "closed")[0]["status"] == "completed"


def test_return_link_opens_the_shop_in_the_whole_window(page: Page, shop: Shop, create: Create) -> None:
    thanks = shop.put("/thanks", "<h1>Thank you</h1>")
    request = create(redirect_url=thanks)
    frame = opened(page, shop, request)
    settle(page, request, status="completed", amount_paid=10_500_000)
    frame.get_by_role("link", name="Return to").click()
    page.wait_for_url(f"{thanks}?payment_request_id={request['id']}&status=completed")


@pytest.mark.parametrize("page", [{"viewport": PHONE, "has_touch": True, "is_mobile": True}], indirect=True)
def test_dialog_covers_the_whole_screen_of_a_phone(page: Page, shop: Shop, request_: dict[str, Any]) -> None:
    opened(page, shop, request_)
    assert resting_box(page.get_by_role("dialog")) == {"x": 0, "y": 0, **PHONE}


def test_reduced_motion_stops_the_dialogs_animation(page: Page, shop: Shop, request_: dict[str, Any]) -> None:
    opened(page, shop, request_)
    animation = "dialog => getComputedStyle(dialog).animationName"
    page.emulate_media(reduced_motion="no-preference")
    assert page.get_by_role("dialog").evaluate(animation) != "none"
    page.emulate_media(reduced_motion="reduce")
    assert page.get_by_role("dialog").evaluate(animation) == "none"


def test_unregistered_origin_follows_the_link(page: Page, running_shop: Shop, create: Create) -> None:
    request = create()
    page.goto(running_shop.sell(request["payment_url"]))
    page.get_by_role("link", name="Pay with crypto").click()
    page.wait_for_url(request["payment_url"])
    expect(page.locator("#amount")).to_have_text("10.50")
