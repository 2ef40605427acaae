"""The checkout over a shop's page: what a customer sees, by hand and by keyboard, and what the shop is told."""

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
    """Open the shop and press its button; the checkout's frame, once it is shown."""
    page.goto(shop.sell(request["payment_url"]))
    page.get_by_role("link", name="Pay with crypto").click()
    frame = page.frame_locator("iframe")
    expect(frame.locator("#amount")).to_have_text("10.50")
    expect(page.locator("iframe")).to_be_focused()
    return frame


def told(page: Page, name: str) -> list[Any]:
    """Return what the shop was told by this name so far."""
    return [progress for said, progress in page.evaluate("told") if said == name]


def settle(page: Page, request: dict[str, Any], **change: Any) -> None:
    """Change the request behind the checkout's back, and have it look."""
    PaymentRequest.objects.filter(pk=request["id"]).update(**change)
    page.frames[1].evaluate("dispatchEvent(new Event('online'))")


def test_a_dialog_opens_over_the_page_and_tells_the_status(
    page: Page, shop: Shop, request_: dict[str, Any], troubles: list[str]
) -> None:
    opened(page, shop, request_)
    expect(page.get_by_role("dialog", name="Payment")).to_be_visible()
    expect(page.locator("iframe")).to_have_attribute("title", "Payment")
    picture(page, "embedded, over the shop's page")
    eventually(lambda: told(page, "status"), "the shop was told", 10)
    assert told(page, "status") == [{"paymentRequestId": request_["id"], "status": "active"}]
    assert page.url.startswith(shop.origin)
    assert troubles == []


def test_the_close_button_gives_the_page_back_as_it_was(
    page: Page, shop: Shop, request_: dict[str, Any]
) -> None:
    opened(page, shop, request_)
    page.mouse.move(100, 400)
    page.mouse.wheel(0, 600)
    assert page.evaluate("scrollY") == 0
    page.get_by_role("button", name="Close the payment").click()
    expect(page.get_by_role("link", name="Pay with crypto")).to_be_focused()
    expect(page.locator("iframe")).to_have_count(0)
    eventually(lambda: told(page, "closed"), "the shop was told", 10)
    assert told(page, "closed") == [{"paymentRequestId": request_["id"], "status": "active"}]
    page.mouse.wheel(0, 600)
    eventually(lambda: page.evaluate("scrollY") > 0, "the page scrolled", 10)


@pytest.mark.parametrize("focused", ["button", "frame"])
def test_escape_closes_it_wherever_the_keyboard_is(
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


def test_the_keyboard_stays_in_the_dialog(page: Page, shop: Shop, request_: dict[str, Any]) -> None:
    opened(page, shop, request_)
    for _ in range(20):
        page.keyboard.press("Tab")
        behind = page.evaluate("document.activeElement.closest('a, button') !== null")
        assert not behind, "the page behind the dialog has the keyboard"


def test_giving_up_in_the_checkout_closes_it(page: Page, shop: Shop, request_: dict[str, Any]) -> None:
    frame = opened(page, shop, request_)
    frame.get_by_role("link", name="without paying").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert page.url.startswith(shop.origin)


def test_completion_is_told_once_and_the_shop_decides_what_follows(
    page: Page, shop: Shop, request_: dict[str, Any]
) -> None:
    frame = opened(page, shop, request_)
    settle(page, request_, status="completed", amount_paid=10_500_000)
    expect(frame.get_by_role("heading", name="Payment complete")).to_be_visible()
    picture(page, "embedded, complete")
    eventually(lambda: told(page, "completed"), "the shop was told", 10)
    assert told(page, "completed") == [{"paymentRequestId": request_["id"], "status": "completed"}]
    assert [progress["status"] for progress in told(page, "status")] == ["active", "completed"]
    page.evaluate("opened.close()")
    eventually(lambda: told(page, "closed"), "the shop was told", 10)
    assert told(page, "closed")[0]["status"] == "completed"


def test_the_checkouts_link_back_takes_the_whole_window(page: Page, shop: Shop, create: Create) -> None:
    thanks = shop.put("/thanks", "<h1>Thank you</h1>")
    request = create(redirect_url=thanks)
    frame = opened(page, shop, request)
    settle(page, request, status="completed", amount_paid=10_500_000)
    frame.get_by_role("link", name="Return to").click()
    page.wait_for_url(f"{thanks}?payment_request_id={request['id']}&status=completed")


@pytest.mark.parametrize("page", [{"viewport": PHONE, "has_touch": True, "is_mobile": True}], indirect=True)
def test_on_a_phone_it_takes_the_whole_screen(page: Page, shop: Shop, request_: dict[str, Any]) -> None:
    opened(page, shop, request_)
    assert resting_box(page.get_by_role("dialog")) == {"x": 0, "y": 0, **PHONE}


@pytest.mark.parametrize(
    ("page", "moves"),
    [({"reduced_motion": "reduce"}, False), ({"reduced_motion": "no-preference"}, True)],
    indirect=["page"],
)
def test_nothing_moves_for_those_who_want_it_still(
    page: Page, shop: Shop, request_: dict[str, Any], moves: bool
) -> None:
    opened(page, shop, request_)
    name = page.get_by_role("dialog").evaluate("dialog => getComputedStyle(dialog).animationName")
    assert (name != "none") is moves


def test_where_framing_is_not_allowed_the_link_is_followed(
    page: Page, running_shop: Shop, create: Create
) -> None:
    request = create()
    page.goto(running_shop.sell(request["payment_url"]))
    page.get_by_role("link", name="Pay with crypto").click()
    page.wait_for_url(request["payment_url"])
    expect(page.locator("#amount")).to_have_text("10.50")
