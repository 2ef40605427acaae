"""Messages between the shop's page and the checkout: contents, receivers and forgeries."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Frame, Page, expect

from tests.processes import eventually
from tests.support.embedding.shop import Shop, open_shop

Create = Callable[..., dict[str, Any]]
COMPLETED = {
    "quittance": 1,
    "type": "status",
    "payment_request_id": "x",
    "status": "completed",
    "is_busy": False,
}
# A shop's page without our script. It frames the checkout, sends the greeting and records all messages.
BY_HAND = """<!doctype html><title>By hand</title><link rel="icon" href="data:,">
<iframe src="{payment_url}" onload="this.contentWindow.postMessage(hello, '*')"></iframe>
<script>
  window.heard = [];
  window.hello = {{ quittance: 1, type: "hello", closable: true }};
  addEventListener("message", (event) => heard.push([event.origin, event.data]));
</script>"""


def checkout_in(page: Page) -> Frame:
    """Return the checkout's frame once it is shown."""
    expect(page.frame_locator("iframe").first.locator("#amount")).to_have_text("10.50")
    return next(frame for frame in page.frames if "/pay/" in frame.url)


@pytest.fixture
def request_(create: Create) -> dict[str, Any]:
    return create(
        external_id="order-77", metadata={"customer": "Zoë"}, redirect_url="https://shop.example/ok"
    )


def test_checkout_sends_only_the_id_status_and_height(
    page: Page, shop: Shop, service: str, request_: dict[str, Any]
) -> None:
    page.goto(shop.put("/", BY_HAND.format(payment_url=request_["payment_url"])))
    checkout_in(page)
    eventually(lambda: len(page.evaluate("heard")) >= 2, "the checkout responded", 10)
    heard = page.evaluate("heard")
    assert {origin for origin, _ in heard} == {service}
    by_type = {data["type"]: data for _, data in heard}
    assert by_type.keys() == {"status", "height"}
    assert by_type["status"] == {**COMPLETED, "payment_request_id": request_["id"], "status": "active"}
    assert by_type["height"].keys() == {"quittance", "type", "height"}


def test_shop_without_a_valid_greeting_receives_nothing(
    page: Page, shop: Shop, request_: dict[str, Any]
) -> None:
    silent = BY_HAND.replace("""onload="this.contentWindow.postMessage(hello, '*')\"""", "")
    page.goto(shop.put("/", silent.format(payment_url=request_["payment_url"])))
    frame = checkout_in(page)
    frame.get_by_text("Technical details").click()
    page.keyboard.press("Escape")
    # The valid greeting gets a response, which shows that messages arrive.
    page.evaluate("frames[0].postMessage({ ...hello, quittance: 2 }, '*')")
    page.evaluate("frames[0].postMessage({ ...hello, type: 'goodbye' }, '*')")
    page.evaluate("frames[0].postMessage('hello', '*')")
    page.evaluate("frames[0].postMessage(null, '*')")
    page.evaluate("performance.mark('greeting'), frames[0].postMessage(hello, '*')")
    eventually(lambda: page.evaluate("heard"), "the checkout responded", 10)
    assert page.evaluate("heard[0][1].type") == "status"
    assert "close" not in {data["type"] for _, data in page.evaluate("heard")}


def test_window_beside_the_checkout_receives_nothing(
    page: Page, shop: Shop, request_: dict[str, Any]
) -> None:
    shop.put(
        "/beside", "<script>addEventListener('message', (event) => (window.heard = event.data))</script>"
    )
    both = (
        '<iframe name="checkout" src="{payment_url}"></iframe><iframe name="beside" src="/beside"></iframe>'
    )
    page.goto(shop.put("/", both.format(payment_url=request_["payment_url"])))
    checkout_in(page)
    beside = page.frame("beside")
    assert beside is not None
    beside.evaluate("parent.frames[0].postMessage({ quittance: 1, type: 'hello', closable: true }, '*')")
    # Messages arrive in order, so all earlier ones have arrived when this one gets its response.
    page.evaluate("addEventListener('message', (event) => (window.heard = event.data))")
    page.evaluate("frames[0].postMessage({ quittance: 1, type: 'hello', closable: true }, '*')")
    eventually(lambda: page.evaluate("window.heard !== undefined"), "the checkout responded", 10)
    assert beside.evaluate("window.heard === undefined")


def test_shop_ignores_messages_of_other_windows(page: Page, shop: Shop, request_: dict[str, Any]) -> None:
    page.goto(shop.sell(request_["payment_url"]))
    page.evaluate("Quittance.mount('#here', options)")
    checkout_in(page)
    eventually(lambda: len(page.evaluate("events")) == 1, "the shop got the status", 60)
    # A forged message from the shop's own window, where any script of the page runs:
    page.evaluate("(forged) => postMessage(forged, '*')", COMPLETED)
    # A forged message from another site's window:
    with open_shop() as stranger:
        forging = f"<script>opener.postMessage({str(COMPLETED).replace('False', 'false')}, '*')</script><h1>Done</h1>"
        with page.expect_popup() as popup:
            page.evaluate("(url) => void open(url)", stranger.put("/", forging))
        expect(popup.value.get_by_role("heading", name="Done")).to_be_visible()
    page.evaluate("new Promise((done) => setTimeout(done, 50))")
    assert [name for name, _ in page.evaluate("events")] == ["status"]
