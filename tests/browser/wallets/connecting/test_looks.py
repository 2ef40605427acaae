"""The page with a merchant's theme, with many wallets, and with a wallet that has too little money."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from checkout.tasks import fetch_merchants_logo
from merchants.models import Merchant
from payments.models import Payment
from tests.browser.conftest import TOUCHED, AddWallet, Create
from tests.pictures import picture
from tests.support.wallets.stub import NAME
from tests.support.webhooks.receiver import Receiver, answer, running_receiver

POOR = "0x" + "7a3e" * 10
LOGO = b"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 40"><path fill="#b3541e" d="M0 0h40v40H0z"/>
<path fill="#fff" d="M8 22c0-8 5-12 12-12s12 4 12 12v6H8z"/></svg>"""


@pytest.fixture
def host() -> Iterator[Receiver]:
    with running_receiver() as running:
        running.answers = [answer(200, LOGO)]
        yield running


def test_merchant_theme_and_long_name_are_shown(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet, merchant: Merchant, host: Receiver
) -> None:
    name = "Bäckerei Sonnenschein & Töchter, Hamburg-Ottensen"
    colours = {"accent_colour": "#b3541e", "background_colour": "#f6ecdf"}
    Merchant.objects.filter(pk=merchant.pk).update(display_name=name, logo_url=host.url, **colours)
    assert fetch_merchants_logo(str(merchant.pk))
    add_wallet()
    page.goto(create(description="Two loaves of rye, sliced, and a dozen rolls")["payment_url"])
    logo = page.locator("#logo")
    expect(logo).to_be_visible()
    assert logo.evaluate("image => image.complete && image.naturalWidth > 0")
    expect(page.get_by_text(name, exact=True)).to_be_visible()
    picture(page, "a merchant's looks, wallets")
    panel.get_by_role("button", name=NAME).click()
    pay = panel.get_by_role("button", name="Pay 10.50 USDC")
    expect(pay).to_have_css("background-color", "rgb(179, 84, 30)")
    picture(page, "a merchant's looks, review")


@pytest.mark.parametrize("page", [TOUCHED], ids=["phone"], indirect=True)
def test_last_of_many_wallets_can_be_chosen_on_a_phone(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    names = [f"Wallet {letter}" for letter in "ABCDEFGHI"]
    for name in names:
        add_wallet(name=name)
    page.goto(create()["payment_url"])
    expect(panel.locator(".wallet__name")).to_have_text(names)
    picture(page, "wallets, many")
    panel.get_by_role("button", name=names[-1]).click()
    expect(panel.get_by_role("heading", name="Review and pay")).to_be_visible()


def test_wallet_without_the_money_is_not_asked_to_pay(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    wallet = add_wallet(accounts=[POOR])
    page.goto(create()["payment_url"])
    panel.get_by_role("button", name=NAME).click()
    panel.get_by_role("button", name="Pay 10.50 USDC").click()
    expect(panel.get_by_test_id("notice")).to_contain_text("This wallet needs 10.50 more USDC")
    picture(page, "blocked, not enough in the wallet")
    assert wallet.asked("eth_sendTransaction") == []
    assert not Payment.objects.exists()
