from typing import Any

from django.utils import timezone
from playwright.sync_api import Locator, Page, Route

from payments.models import Payment, PaymentRequest
from tests.support.payments.rows import change
from tests.support.wallets.stub import NAME

SHOP = "https://shop.example"
HASH = "0x" + "34" * 32
WHOLE = 10_500_000
# This account takes part in no payment, so it has no balance on any chain.
OTHER = "0xFBF61827382c2BcE696a057BC0D68E83BFfe4e59"
SENT = "eth_sendTransaction"
ON_ITS_WAY = "Payment on its way"
OPEN_PROMPT = "A payment was started in this browser a moment ago."


def review(page: Page, panel: Locator, request: dict[str, Any]) -> Locator:
    """Connect the stub wallet; return the button that pays."""
    page.goto(request["payment_url"])
    panel.get_by_role("button", name=NAME).click()
    return panel.get_by_role("button", name="Pay 10.50 USDC")


def send(page: Page, pay: Locator) -> None:
    """Pay, and wait until the service has the transaction's hash."""
    with page.expect_response("**/payments") as submitted:
        pay.click()
    # 200 if another tab was quicker.
    assert submitted.value.ok


def hold(page: Page, path: str) -> list[Route]:
    """Hold the calls of this path without a response; return their routes, which a test can continue."""
    held: list[Route] = []
    page.route(path, lambda route: held.append(route))
    return held


def refresh(page: Page) -> None:
    """Have the page poll now, as when the connection returns."""
    page.evaluate("dispatchEvent(new Event('online'))")


def update(order: dict[str, Any], **change: Any) -> None:
    """Change the stored request."""
    PaymentRequest.objects.filter(pk=order["id"]).update(**change)


def complete(order: dict[str, Any], paid: int = WHOLE) -> None:
    """Complete the stored request and its payments."""
    ended: dict[str, Any] = {"status": "completed", "completed_at": timezone.now()}
    change(Payment.objects.filter(request_id=order["id"]), amount_received=paid, **ended)
    update(order, amount_paid=paid, **ended)
