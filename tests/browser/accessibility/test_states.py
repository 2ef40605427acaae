"""Every state that the server shows can be read by everybody, with scripts and without (WCAG 2.2 AA)."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from limits import parse
from playwright.sync_api import Page, expect

from chains.models import Chain, Token
from merchants.models import Merchant
from payments.models import FailureCode, Payment, PaymentRequest
from tests.support.accessibility.page_rules import assert_accessible, assert_fits, open_bare
from tests.support.payments.world import ON_ITS_WAY

Create = Callable[..., dict[str, Any]]
PAID, TOO_MUCH = {"amount_paid": 10_500_000}, {"amount_paid": 12_500_000}
HASH = "0x" + "ab" * 32
FAILED = {
    "status": "failed",
    "failure_code": FailureCode.SWAP_REFUNDED,
    "failure_message": "The provider has sent the money back to the wallet that paid.",
    "failed_at": timezone.now(),
}
# By name: what the request's row says, and its payment's where it has one.
STATES: dict[str, tuple[dict[str, Any], dict[str, Any] | None]] = {
    "active": ({}, None),
    "partly paid": ({"amount_paid": 3_000_000}, None),
    "processing": (
        {},
        {"status": "processing", "confirmations": 2, "confirmations_required": 12, **ON_ITS_WAY},
    ),
    "crossing": (
        {},
        {"status": "processing", "type": "swap", "provider": "lifi", "chain_id": 777, **ON_ITS_WAY},
    ),
    "not found yet": ({}, {"status": "processing"}),
    "not bound": ({}, {"status": "failed", "failure_code": FailureCode.TRANSACTION_NOT_BOUND}),
    "failed": ({}, {**FAILED, "type": "swap", "provider": "lifi", "chain_id": 777}),
    "taking long": (
        {},
        {"status": "processing", "created_at": timezone.now() - timedelta(hours=1), **ON_ITS_WAY},
    ),
    "completed": ({"status": "completed", **PAID}, None),
    "paid too much": (
        {"status": "completed", **TOO_MUCH},
        {"status": "completed", "amount_received": 12_500_000},
    ),
    "paid late": ({"status": "completed", "paid_late": True, **PAID}, None),
    "expired": ({"status": "expired", "amount_paid": 3_000_000}, None),
    "cancelled": ({"status": "cancelled"}, None),
    "switched off": ({}, None),
    "switched off, partly paid": ({"amount_paid": 3_000_000}, None),
    "cancelled, but paid": ({"status": "cancelled", **PAID}, None),
}


def _bring(state: str, create: Create) -> str:
    """Return the address of a page in this state, of a merchant with a hard choice of colours."""
    order = create(
        description="Two loaves, sliced, and a box of Kümmelbrötchen",
        redirect_url="https://shop.example/thanks",
        cancel_url="https://shop.example/basket",
    )
    Chain.objects.create(
        id=777, name="Far Chain", chain_type="evm", rpc_urls=["http://127.0.0.1:1"], native_symbol="FAR"
    )
    of_request, of_payment = STATES[state]
    if of_payment:
        common = {"request_id": order["id"], "chain_id": order["chain_id"], "transaction_hash": HASH}
        created = Payment.objects.create(**{**common, **of_payment})
        # When it began is set by itself.
        Payment.objects.filter(pk=created.pk).update(**of_payment)
    PaymentRequest.objects.filter(pk=order["id"]).update(**of_request)
    if state.startswith("switched off"):
        Token.objects.update(is_active=False)
    return str(order["payment_url"])


@pytest.mark.parametrize("state", STATES)
def test_each_state_reads_well_without_scripts(
    state: str, create: Create, page: Page, troubles: list[str]
) -> None:
    open_bare(page, _bring(state, create))
    assert_accessible(page)
    assert not troubles


@pytest.mark.parametrize("state", STATES)
def test_each_state_reads_well_with_scripts(
    state: str, create: Create, page: Page, troubles: list[str]
) -> None:
    page.route("https://shop.example/**", lambda route: route.fulfill(body="the shop"))
    page.goto(_bring(state, create))
    expect(page.locator("#panel-heading")).to_be_visible()
    for summary in page.locator("summary:visible").all():
        summary.click()
    assert_accessible(page)
    assert not troubles


@pytest.mark.parametrize("path", ["/", "/pay/nonesuch2345"])
def test_pages_of_no_payment_read_well(path: str, service: str, page: Page) -> None:
    open_bare(page, service + path)
    assert_accessible(page)


def test_the_page_of_a_customer_who_asked_too_often_reads_well(
    create: Create, page: Page, settings: Any
) -> None:
    address = create()["payment_url"]
    settings.RATE_LIMIT_PUBLIC = parse("1/minute")
    for _ in range(2):
        open_bare(page, address)
    expect(page.get_by_role("heading", name="One moment, please")).to_be_visible()
    assert_accessible(page)


def test_a_long_name_without_a_break_fits_a_narrow_window(create: Create, page: Page) -> None:
    Merchant.objects.update(display_name="Donaudampfschifffahrtsgesellschaft" * 2)
    page.goto(create(amount="123456789012.123456", description="x" * 200)["payment_url"])
    expect(page.locator("#panel-heading")).to_be_visible()
    assert_fits(page)
