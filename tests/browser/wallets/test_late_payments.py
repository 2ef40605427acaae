"""The page of a final request continues to poll, at the interval that the server recommends."""

from playwright.sync_api import Locator, Page, expect

from chains.models import Chain
from tests.browser.conftest import Create
from tests.browser.wallets.steps import HASH, update
from tests.support.payments.rows import new_payment
from tests.support.payments.world import ON_ITS_WAY

FINAL_POLL_MS = 60_000
DETAILS = "**/api/public/payment-requests/*"


def test_late_payment_reaches_a_final_page_by_polling(
    page: Page, panel: Locator, create: Create, chain: Chain
) -> None:
    order = create()
    page.clock.install()
    page.goto(order["payment_url"])
    expect(panel).to_have_attribute("data-screen", "choose")
    update(order, status="cancelled")
    page.clock.fast_forward(6_000)
    expect(panel.get_by_role("heading", name="This payment was cancelled")).to_be_visible()

    late = {**ON_ITS_WAY, "status": "processing", "confirmations": 1}
    new_payment(request_id=order["id"], chain=chain, transaction_hash=HASH, **late)
    with page.expect_response(DETAILS) as polled:
        page.clock.fast_forward(FINAL_POLL_MS)
    assert polled.value.json()["is_final"] is False
    expect(panel.get_by_role("heading", name="Payment on its way")).to_be_visible()
