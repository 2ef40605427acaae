"""A wallet that can't be connected is told of in words, and there is a way on from it."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from payments.models import Payment
from tests.browser.conftest import AddWallet, Create
from tests.chain import LocalChain
from tests.pictures import picture
from tests.support.wallets.stub import NAME, error

FAULTS = {
    "declined": (error(4001), "You declined the connection"),
    "declined, wrapped": (error(-32603, "Internal", data={"originalError": {"code": 4001}}), "You declined"),
    "already asking": (error(-32002, "Already processing"), "already waiting for your answer"),
    "locked": ({"gives": []}, "Unlock the wallet"),
    "not allowed": (error(4100), "Unlock the wallet"),
    "no network": (error(4900), "not connected to its network"),
    "no such method": (error(-32601), "can’t send this payment"),
    "in words alone": (error(-32000, "The vault is on fire"), "Wallet message: The vault is on fire"),
    "no address": ({"gives": ["javascript:alert(1)"]}, "Unlock the wallet"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_told_and_the_next_try_works(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet, fault: str
) -> None:
    answer, told = FAULTS[fault]
    add_wallet(answers={"eth_requestAccounts": [answer]})
    page.goto(create()["payment_url"])
    panel.get_by_role("button", name=NAME).click()
    expect(panel.get_by_test_id("notice")).to_contain_text(told)
    expect(page.locator("#live")).to_contain_text(told)
    picture(page, f"connecting, {fault}")
    panel.get_by_role("button", name=NAME).click()
    expect(panel.get_by_role("heading", name="Review and pay")).to_be_visible()
    assert not Payment.objects.exists()


def test_the_answer_to_a_question_that_stood_open_goes_on_by_itself(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet, local_chain: LocalChain
) -> None:
    wallet = add_wallet(answers={"eth_requestAccounts": [error(-32002)]})
    page.goto(create()["payment_url"])
    panel.get_by_role("button", name=NAME).click()
    expect(panel.get_by_test_id("notice")).to_be_visible()
    wallet.emit("accountsChanged", [local_chain.payer])
    expect(panel.get_by_role("heading", name="Review and pay")).to_be_visible()


def test_a_wallet_that_does_not_answer_can_be_left(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    add_wallet(answers={"eth_requestAccounts": ["never"]})
    page.clock.install()
    page.goto(create()["payment_url"])
    panel.get_by_role("button", name=NAME).click()
    expect(panel.get_by_role("heading", name=f"Connect {NAME}")).to_be_focused()
    expect(panel.get_by_test_id("notice")).to_have_count(0)
    page.clock.fast_forward(20_000)
    expect(panel.get_by_test_id("notice")).to_contain_text(f"Don’t see a request in {NAME}?")
    expect(page.locator("#live")).to_contain_text("It may be locked")
    panel.get_by_role("button", name="Back").click()
    expect(panel.get_by_role("button", name=NAME)).to_be_visible()


def test_the_wallet_of_an_old_browser_is_found_too(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    add_wallet(isInjected=True)
    page.goto(create()["payment_url"])
    panel.get_by_role("button", name="Browser wallet").click()
    expect(panel.get_by_role("heading", name="Review and pay")).to_be_visible()


def test_what_a_wallet_calls_itself_is_only_text(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet, troubles: list[str]
) -> None:
    turned = chr(0x202E)
    add_wallet(name=f"<img src=x onerror=alert(1)>{turned}evil" + "x" * 50)
    page.goto(create()["payment_url"])
    expect(panel.locator(".wallet__name")).to_have_text(
        re.compile(r"^<img src=x onerror=alert\(1\)>evilx{8}$")
    )
    picture(page, "wallets, a hostile name")
    assert not troubles, troubles


PICTURES = {
    "elsewhere": "https://tracker.example/icon.png",
    "no picture": "data:text/html,<h1>hello</h1>",
    "broken": "data:image/png;base64,AAAA",
    "huge": "data:image/png;base64," + "A" * 200_000,
}


@pytest.mark.parametrize("picture", PICTURES)
def test_an_icon_that_can_not_be_shown_becomes_a_letter(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet, picture: str
) -> None:
    asked: list[str] = []
    page.on("request", lambda sent: asked.append(sent.url))
    add_wallet(icon=PICTURES[picture])
    page.goto(create()["payment_url"])
    row = panel.get_by_role("button", name=NAME)
    expect(row.locator(".wallet__icon--letter")).to_have_text("S")
    expect(row.locator("img")).to_have_count(0)
    assert not [url for url in asked if "tracker" in url]
