"""The dashboard's sections on sponsored payments, on a phone and a desktop."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from chains.models import Chain, Token
from merchants.models import Merchant
from payments.models import DailyFees, GasAccount
from tests.browser.portal.conftest import fits
from tests.browser.windows import ON_BOTH
from tests.pictures import picture
from tests.support.payments.relays import SPONSOR, SPONSOR_KEY, new_authorization, new_relay
from tests.support.payments.world import make_request


@pytest.fixture
def sponsored(chain: Chain, merchant: Merchant, usdc: Token, settings: Any) -> None:
    """A chain with two stuck transactions, and a chain whose gas account has enough coins."""
    other = Chain.objects.create(id=8453, name="Base", chain_type="evm", native_symbol="ETH")
    settings.SPONSOR_KEYS = {"evm": SPONSOR_KEY}
    settings.SPONSOR_DAILY_BUDGET = {chain.pk: Decimal("0.05"), other.pk: Decimal("0.01")}
    Chain.objects.filter(pk=chain.pk).update(explorer_url="https://explorer.example")
    now = timezone.now()
    for each, balance in ((chain, 12_345_678_901_234_567), (other, 2 * 10**17)):
        GasAccount.objects.create(chain=each, address=SPONSOR, balance=balance, looked_at=now)
        DailyFees.objects.create(
            day=now.date(),
            merchant=None,
            chain=each,
            payments=41,
            saved=balance // 1_000,
            spent=balance // 990,
        )
    for _ in range(2):
        authorization = new_authorization(make_request(merchant, usdc, "10", "0x" + "11" * 20))
        new_relay(
            authorization,
            created_at=now - timedelta(hours=5),
            hashes=["0x" + "ab" * 32, "0x" + "cd" * 32],
        )


@ON_BOTH
@pytest.mark.django_db(transaction=True)
def test_dashboard_shows_sponsors_and_saved_fees(page: Page, portal: str, sponsored: None) -> None:
    page.goto(portal)
    for name in ("Network fees paid for customers", "Sponsored payments: accounts that pay network fees"):
        expect(page.get_by_role("heading", name=name)).to_be_visible()
    stuck = page.get_by_text("nonce 0, 5 hours ago, signed 2 times")
    expect(stuck).to_be_visible()
    expect(stuck.get_by_role("link")).to_have_attribute("href", f"https://explorer.example/tx/0x{'cd' * 32}")
    assert fits(page)
    picture(page, "dashboard-sponsoring")
    page.get_by_role("link", name="Sponsored payments in trouble").click()
    expect(page.locator("#d-sponsors")).to_be_in_viewport()
