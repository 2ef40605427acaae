"""Support work in the portal: find a payment by its hash, accept it, export requests."""

import csv
import io
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import transaction
from playwright.sync_api import Page, expect

from chains.models import Chain, Token
from merchants.models import Merchant
from payments.models import Payment, PaymentRequest
from payments.requests.creation import NewRequest, create_request
from payments.requests.events import record_failed
from tests.browser.portal.conftest import fits
from tests.support.portal.payment_rows import HASH, RECIPIENT, fail
from webhooks.endpoints.configuration import Change, configure


@pytest.fixture
def payment(merchant: Merchant) -> Payment:
    """An unbound payment of 10.50 USDC, and a webhook delivery that reports it."""
    chain = Chain.objects.create(
        id=8453, name="Base", chain_type="evm", native_symbol="ETH", explorer_url="https://basescan.example"
    )
    token = Token.objects.create(
        chain=chain, symbol="USDC", name="USD Coin", decimals=6, contract_address="0x" + "1" * 40
    )
    configure(merchant, Change(url="https://shop.example/hook"))
    order = NewRequest(token, 10_500_000, RECIPIENT, timedelta(hours=1), external_id="=1+1 and more")
    unbound = fail(create_request(merchant, order, actor="test"), code="transaction_not_bound")
    Payment.objects.update(amount=10_500_000, token=token)
    with transaction.atomic():
        record_failed(unbound.request, unbound)
    return unbound


def test_payment_found_by_its_hash_can_be_accepted(
    payment: Payment, portal: str, page: Page, troubles: list[str], tmp_path: Path
) -> None:
    page.goto(f"{portal}payments/payment/")
    page.locator("#searchbar").fill(HASH.upper())
    page.locator("#searchbar").press("Enter")
    page.wait_for_url("**q=0X**")
    page.locator(f'a[href^="/admin/payments/payment/"][href*="{payment.pk[-12:]}"]').first.click()

    expect(page.get_by_text("If the customer sent it, you can accept it.")).to_be_visible()
    assert fits(page)
    page.goto(page.url.split("?")[0].replace("/change/", "/accept/"))
    page.get_by_label("Reason").fill("She rang us and named the transaction.")
    page.get_by_role("button", name="Accept as payment").dblclick()

    expect(page.get_by_role("heading", name="Timeline")).to_be_visible()
    expect(page.get_by_text("olga (staff) · accepted: She rang us and named the transaction.")).to_have_count(
        1
    )
    assert fits(page)
    accepted = Payment.objects.get()
    assert (accepted.status, accepted.accepted_by) == ("pending", "admin olga")

    page.goto(f"{portal}payments/paymentrequest/")
    assert fits(page)
    with page.expect_download() as download:
        page.get_by_role("link", name="Export CSV").click()
    saved = tmp_path / "requests.csv"
    download.value.save_as(saved)
    (row,) = csv.DictReader(io.StringIO(saved.read_text(encoding="utf-8-sig")))
    assert (row["amount"], row["external_id"]) == ("10.500000", "'=1+1 and more")
    assert PaymentRequest.objects.get().status == "active"
    assert troubles == []
