"""The checkout inside an element of a shop's page."""

from collections.abc import Callable
from typing import Any

from playwright.sync_api import FrameLocator, Page, expect

from payments.models import PaymentRequest
from tests.browsing import resting_box
from tests.pictures import picture
from tests.processes import eventually
from tests.support.embedding.shop import Shop

Create = Callable[..., dict[str, Any]]


def mounted(page: Page, shop: Shop, request: dict[str, Any]) -> FrameLocator:
    """Open the shop with the checkout in an element of its page; return the loaded checkout's frame."""
    page.goto(shop.sell(request["payment_url"]))
    page.evaluate("window.mounted = Quittance.mount('#here', options)")
    frame = page.frame_locator("#here iframe")
    expect(frame.locator("#amount")).to_have_text("10.50")
    return frame


def test_embedded_checkout_is_as_high_as_its_content(
    page: Page, shop: Shop, create: Create, troubles: list[str]
) -> None:
    frame = mounted(page, shop, create())
    # The placeholder has another height, so wait until the page has searched for wallets.
    expect(frame.get_by_text("No wallet found in this browser")).to_be_visible()
    inside = page.frames[1]
    eventually(
        lambda: (
            page.locator("iframe").bounding_box()["height"]
            == inside.evaluate("Math.ceil(document.body.getBoundingClientRect().height)")
        ),
        "the frame is as high as what it shows",
        10,
    )
    picture(page, "embedded, in the shop's page")
    before = resting_box(page.locator("iframe"))["height"]
    frame.get_by_text("Already paid").click()
    frame.get_by_text("Technical details").click()
    eventually(lambda: page.locator("iframe").bounding_box()["height"] > before, "the frame grew", 10)
    frame.get_by_text("Already paid").click()
    frame.get_by_text("Technical details").click()
    eventually(lambda: page.locator("iframe").bounding_box()["height"] == before, "the frame shrank", 10)
    assert troubles == []


def test_unmounted_checkout_reports_that_it_closed(page: Page, shop: Shop, create: Create) -> None:
    request = create()
    mounted(page, shop, request)
    eventually(lambda: len(page.evaluate("events")) == 1, "the shop got the event", 10)
    page.evaluate("mounted.unmount()")
    expect(page.locator("iframe")).to_have_count(0)
    eventually(lambda: len(page.evaluate("events")) == 2, "the shop got the event", 10)
    progress = {"paymentRequestId": request["id"], "status": "active"}
    assert page.evaluate("events") == [["status", progress], ["closed", progress]]


def test_cancel_link_opens_the_shop_in_the_whole_window(page: Page, shop: Shop, create: Create) -> None:
    basket = shop.put("/basket", "<h1>Your basket</h1>")
    request = create(cancel_url=basket)
    frame = mounted(page, shop, request)
    frame.get_by_role("link", name="without paying").click()
    page.wait_for_url(f"{basket}?payment_request_id={request['id']}&status=active")


def test_payment_in_a_new_tab_reaches_the_embedding_shop(page: Page, shop: Shop, create: Create) -> None:
    request = create()
    frame = mounted(page, shop, request)
    with page.expect_popup() as popup:
        frame.get_by_role("link", name="Pay in a new tab").click()
    tab = popup.value
    expect(tab.locator("#amount")).to_have_text("10.50")
    assert tab.url == request["payment_url"]
    assert tab.evaluate("window.opener") is None
    expect(tab.get_by_role("link", name="Pay in a new tab")).to_have_count(0)

    PaymentRequest.objects.filter(pk=request["id"]).update(status="completed", amount_paid=10_500_000)
    tab.close()
    page.frames[1].evaluate("dispatchEvent(new Event('online'))")
    expect(frame.get_by_role("heading", name="Payment complete")).to_be_visible()
    eventually(
        lambda: "completed" in [name for name, _ in page.evaluate("events")], "the shop got the event", 10
    )
    expect(frame.get_by_role("link", name="Pay in a new tab")).to_be_hidden()


def test_pages_of_the_service_open_in_a_new_tab(page: Page, shop: Shop, create: Create) -> None:
    request = create()
    frame = mounted(page, shop, request)
    with page.expect_popup() as popup:
        frame.get_by_role("link", name="Send it yourself").click()
    assert popup.value.url.startswith(request["payment_url"] + "/")
    expect(frame.locator("#amount")).to_have_text("10.50")


def test_unregistered_origin_gets_a_link_in_place(page: Page, running_shop: Shop, create: Create) -> None:
    request = create()
    page.goto(running_shop.sell(request["payment_url"]))
    page.evaluate("Quittance.mount('#here', options)")
    page.get_by_role("link", name="Open the payment’s own page").click()
    page.wait_for_url(request["payment_url"])
