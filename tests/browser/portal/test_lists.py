"""The portal's lists on a phone: two lines a row, and copy buttons for ids, hashes and addresses."""

from pathlib import Path
from urllib.parse import urljoin

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from playwright.sync_api import Page, expect

from chains.models import Token
from merchants.models import Merchant
from merchants.services import issue_key
from merchants.staff.roles import Role, assign_role
from merchants.team.invitations import invite
from payments.models import ConsumedTransfer, Payment, PaymentRequest, Refund
from tests.browser.portal.conftest import fits
from tests.browser.portal.test_payments import payment
from tests.browser.windows import ON_BOTH, ON_PHONE
from tests.pictures import picture
from tests.support.portal.payment_rows import HASH, RECIPIENT

__all__ = ["payment"]

LISTS = {
    "payments/paymentrequest": 44,
    "payments/payment": 1,
    "webhooks/event": 1,
    "webhooks/endpoint": 1,
    "webhooks/delivery": 1,
    "payments/refund": 1,
    "payments/consumedtransfer": 1,
    "payments/transition": 3,
    "merchants/merchant": 1,
    "merchants/apikey": 1,
    "merchants/staffmembership": 1,
    "merchants/invitation": 1,
    "auth/user": 2,
    "chains/chain": 1,
    "chains/token": 1,
}
SHORTEST_ROW, TALLEST_ROW = 40, 72


@pytest.fixture
def recorded(payment: Payment) -> None:
    """Rows for the other lists: an API key, and a transfer that was credited to the payment."""
    merchant = payment.request.merchant
    issue_key(merchant=merchant, permissions=["create_payments"], name="shop")
    assign_role(User.objects.create_user("anna@harbour.example"), Role.OWNER, merchant)
    invite("bob@harbour.example", Role.VIEWER, merchant, request=None)
    Refund.objects.create(merchant=merchant, request=payment.request, amount=1_000_000)
    ConsumedTransfer.objects.create(
        chain=payment.chain, transaction_hash=HASH, slot="3", payment=payment, amount=10_500_000
    )


@pytest.fixture
def many(payment: Payment, merchant: Merchant) -> None:
    """Add requests until there are 44."""
    first = payment.request
    kept = {
        field.attname: getattr(first, field.attname)
        for field in PaymentRequest._meta.concrete_fields
        if field.name not in ("id", "shortcode", "external_id", "reference")
    }
    PaymentRequest.objects.bulk_create(
        PaymentRequest(
            **kept,
            shortcode=f"code{number:04}",
            external_id=f"order-{number}",
            reference=number.to_bytes(len(bytes(first.reference)), "big"),
        )
        for number in range(1, 44)
    )


@ON_PHONE
def test_list_rows_have_two_lines_on_a_phone(
    many: None, recorded: None, portal: str, page: Page, troubles: list[str], tmp_path: Path
) -> None:
    for model, number in LISTS.items():
        page.goto(f"{portal}{model}/")
        rows = page.locator("#result_list tr.data-row")
        expect(rows).to_have_count(number)
        heights = rows.evaluate_all("rows => rows.map(row => row.getBoundingClientRect().height)")
        page.screenshot(path=tmp_path / f"{model.replace('/', '-')}.png")
        assert SHORTEST_ROW <= min(heights) <= max(heights) <= TALLEST_ROW, model
        assert fits(page), model
    page.goto(f"{portal}payments/paymentrequest/")
    page.locator("#result_list tr.data-row").nth(5).click(position={"x": 5, "y": 5})
    page.wait_for_url("**/change/**")
    assert not troubles


@ON_PHONE
def test_page_titles_are_readable_on_a_phone(
    payment: Payment, portal: str, page: Page, troubles: list[str]
) -> None:
    # A phone shows only the last part of the path. The menu and the arrow next to it lead to the other parts.
    order = payment.request
    titles = {
        "payments/paymentrequest/": ("Payment requests", "Payment requests | Quittance"),
        f"payments/paymentrequest/{order.pk}/change/": (order.shortcode, f"{order.shortcode} | "),
        "payments/payment/": ("Payments", "Payments | Quittance"),
    }
    for path, (shown, title) in titles.items():
        page.goto(f"{portal}{path}")
        part = page.locator("h1").get_by_text(shown, exact=True).locator("visible=true")
        expect(part).to_have_count(1)
        assert part.evaluate("part => part.scrollWidth <= part.clientWidth"), f"{shown} is cut"
        assert page.locator("h1 > *").locator("visible=true").count() == 1, path
        assert page.title().startswith(title)
        assert fits(page), path
    assert not troubles


def test_path_above_a_page_is_cut_in_its_last_part_only(
    recorded: None, portal: str, page: Page, troubles: list[str]
) -> None:
    for model, above in (
        ("payments/refund", "Refunds"),
        ("payments/consumedtransfer", "Credited transfers"),
        ("webhooks/endpoint", "Endpoints"),
    ):
        page.goto(f"{portal}{model}/")
        link = page.locator('#result_list tbody a[href*="/change/"]').first.get_attribute("href")
        page.goto(urljoin(page.url, link))
        parent = page.locator("h1").get_by_text(above, exact=True)
        assert parent.evaluate("part => part.scrollWidth <= part.clientWidth"), f"{above} is cut"
        last = page.locator("h1 > *").last
        box = last.bounding_box()
        assert box is not None
        assert box["width"] > 60, f"nothing is left of the title below {above}"
    assert not troubles


@ON_PHONE
def test_ids_hashes_and_addresses_have_copy_buttons(
    payment: Payment, portal: str, page: Page, troubles: list[str], tmp_path: Path
) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"{portal}payments/payment/?q={HASH}")
    page.locator("#result_list tbody th a").click()
    for text in (payment.pk, str(payment.request_id), HASH, RECIPIENT):
        button = page.locator(f'button[data-copy-text="{text}"]')
        button.click()
        expect(button.locator("+ [role=status]")).to_have_text("Copied")
        assert page.evaluate("navigator.clipboard.readText()") == text
    page.screenshot(path=tmp_path / "payment.png", full_page=True)
    assert fits(page)
    assert page.get_by_text("Lease until").count() == 0
    assert not troubles


@ON_BOTH
def test_long_amounts_fit_the_lists(recorded: None, portal: str, page: Page, troubles: list[str]) -> None:
    """A simulated payment and its refund, with amounts of 18 decimal places."""
    Token.objects.update(symbol="WETH", decimals=18)
    raw = 1_234_123_456_789_012_345_678
    PaymentRequest.objects.update(amount=raw, amount_paid=raw - 1, is_simulated=True)
    Payment.objects.update(
        amount=raw, amount_received=raw, status="completed", failure_code="", failed_at=None,
        completed_at=timezone.now(), is_simulated=True,
    )  # fmt: skip
    Refund.objects.update(amount=raw)
    for model in ("payments/paymentrequest", "payments/payment", "payments/refund"):
        page.goto(f"{portal}{model}/")
        expect(page.get_by_text("1,234.1234… WETH").first).to_be_visible()
        expect(page.locator("#result_list").get_by_text("test", exact=True).first).to_be_visible()
        assert fits(page), model
        table = page.locator("#result_list")
        assert table.evaluate("table => table.scrollWidth <= table.parentElement.clientWidth"), model
        if model == "payments/refund":
            cell = table.locator("td.field-state").first
            assert cell.evaluate("cell => cell.scrollWidth <= cell.clientWidth"), "a badge is cut"
        picture(page, f"portal, long amounts in {model.split('/')[1]}")
    page.locator("#result_list tbody th a").first.click()
    page.wait_for_url("**/change/**")
    expect(page.get_by_role("heading", name="Timeline")).to_be_visible()
    assert fits(page)
    picture(page, "portal, a refund")
    assert not troubles
