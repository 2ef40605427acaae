"""Every state that the server shows is accessible (WCAG 2.2 AA) and names the next step, with scripts and without."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from limits import parse
from playwright.sync_api import Page, expect

from chains.models import Chain, Token
from payments.models import FailureCode, PaymentRequest
from tests.support.accessibility.page_rules import assert_accessible, open_bare
from tests.support.payments.rows import change, new_payment
from tests.support.payments.world import ON_ITS_WAY

Create = Callable[..., dict[str, Any]]
PAY, WAY, PAID = "Pay with your wallet", "Payment on its way", "Payment complete"
EXPIRED, CANCELLED = "This payment has expired", "This payment was cancelled"
PAST = timezone.now() - timedelta(minutes=5)
HASH, DELIVERY = "0x" + "ab" * 32, "0x" + "56" * 32
DONE, PART = {"status": "completed", "amount_paid": 10_500_000}, {"amount_paid": 3_000_000}
SWAP = {"type": "swap", "provider": "lifi", "chain_id": 777}
LATE = timezone.now() - timedelta(hours=1)


@dataclass(frozen=True)
class State:
    """The expected heading and text (without scripts) of a page, and the stored columns that lead to it."""

    heading: str
    text: str
    request: dict[str, Any] = field(default_factory=dict)
    payment: dict[str, Any] | None = None


def _under_way(text: str, **different: Any) -> State:
    return State(WAY, text, payment={"status": "processing", **ON_ITS_WAY, **different})


def _failed(text: str, code: str, **different: Any) -> State:
    failure = {
        "status": "failed",
        "failure_code": code,
        "failure_message": "It did not go.",
        "failed_at": PAST,
    }
    return State(PAY, text, payment={**failure, **different})


STATES = {
    "active": State(PAY, "Send it yourself"),
    "partly paid": State(PAY, "3.00 of 10.50 USDC received, 7.50 to go", PART),
    "past the deadline": State(PAY, "The payment deadline has passed.", {"expires_at": PAST}),
    "processing": _under_way("Confirmations 2 of 12", confirmations=2, confirmations_required=12),
    "crossing": _under_way("On its way to Local Chain", provider_status="PENDING", **SWAP),
    "delivered": _under_way("Confirmations 0 of 1", delivery_hash=DELIVERY, confirmations=9, **SWAP),
    "taking long": _under_way(
        "Confirmations 1 of 12", confirmations=1, confirmations_required=12, created_at=LATE
    ),
    "not found yet": State(PAY, "We can’t find this transaction yet", payment={"status": "processing"}),
    "not bound yet": State(
        PAY, "We are checking this transaction", payment={"status": "processing", "seen_at": PAST}
    ),
    "about to fail": State(
        PAY,
        "This transaction didn’t pay this request",
        payment={"status": "processing", "seen_at": PAST, "likely_failure": FailureCode.WRONG_RECIPIENT},
    ),
    "not bound": _failed("Please don’t send it again.", FailureCode.TRANSACTION_NOT_BOUND),
    "reverted": _failed("You can pay again.", FailureCode.TRANSACTION_REVERTED),
    "sent back": _failed("Send it yourself", FailureCode.SWAP_REFUNDED, **SWAP),
    "completed": State(PAID, "View receipt", DONE),
    "paid too much": State(
        "Paid more than requested",
        "2.00 USDC more than requested",
        {"status": "completed", "amount_paid": 12_500_000},
        {"status": "completed", "amount_received": 12_500_000},
    ),
    "paid late": State(PAID, "after the deadline", {**DONE, "paid_late": True}),
    "expired": State(EXPIRED, "help@shop.example", {"status": "expired"}),
    "expired in part": State(EXPIRED, "3.00 of 10.50 USDC arrived", {"status": "expired", **PART}),
    "cancelled": State(CANCELLED, "help@shop.example", {"status": "cancelled"}),
    "cancelled, but paid": State(CANCELLED, "still arrived", {**DONE, "status": "cancelled"}),
    "switched off": State("unavailable at the moment", "help@shop.example"),
    "switched off, partly paid": State("unavailable at the moment", "3.00 of 10.50 USDC", PART),
}


def _store(name: str, create: Create) -> str:
    """Store the state; return the URL of its page."""
    order = create(
        description="Two loaves, sliced, and a box of Kümmelbrötchen",
        redirect_url="https://shop.example/thanks",
        cancel_url="https://shop.example/basket",
    )
    Chain.objects.create(
        id=777, name="Far Chain", chain_type="evm", rpc_urls=["http://127.0.0.1:1"], native_symbol="FAR"
    )
    state = STATES[name]
    if state.payment:
        common = {"request_id": order["id"], "chain_id": order["chain_id"], "transaction_hash": HASH}
        created = new_payment(**{**common, **state.payment})
        # Creating the row sets `created_at`, so it is changed afterwards.
        change(created, **state.payment)
    PaymentRequest.objects.filter(pk=order["id"]).update(**state.request)
    if name.startswith("switched off"):
        Token.objects.update(is_active=False)
    return str(order["payment_url"])


@pytest.mark.parametrize("name", STATES)
def test_state_is_accessible_with_scripts_and_without(
    name: str, create: Create, page: Page, troubles: list[str]
) -> None:
    state, url = STATES[name], _store(name, create)
    open_bare(page, url)
    expect(page.locator("#panel h2")).to_contain_text(state.heading)
    assert state.text in page.locator("main").inner_text()
    if state.heading != WAY:
        expect(page.locator("a[href^='https://shop.example']").first).to_be_visible()
    assert_accessible(page)
    page.route("https://shop.example/**", lambda route: route.fulfill(body="the shop"))
    page.goto(url)
    expect(page.locator("#panel-heading")).to_be_visible()
    for summary in page.locator("summary:visible").all():
        summary.click()
    assert_accessible(page)
    assert not troubles


def test_pages_without_a_payment_are_accessible(
    create: Create, page: Page, service: str, settings: Any
) -> None:
    for path in ("/", "/pay/nonesuch2345"):
        open_bare(page, service + path)
        assert_accessible(page)
    address = create()["payment_url"]
    settings.RATE_LIMIT_PUBLIC = parse("1/minute")
    for _ in range(2):
        open_bare(page, address)
    expect(page.get_by_role("heading", name="One moment, please")).to_be_visible()
    assert_accessible(page)
