"""If a wallet can't connect, the page shows the reason and the next step."""

import pytest
from playwright.sync_api import Locator, Page, expect

from payments.models import Payment
from tests.browser.conftest import AddWallet, Create
from tests.chain import LocalChain
from tests.pictures import picture
from tests.support.wallets.stub import NAME, NEVER, error


@pytest.mark.parametrize(
    ("fault", "notice"),
    [(error(4001), "You declined the connection"), ({"gives": []}, "Unlock the wallet")],
    ids=["declined", "locked"],
)
def test_failed_connection_is_announced_and_can_be_retried(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet, fault: object, notice: str
) -> None:
    add_wallet(answers={"eth_requestAccounts": [fault]})
    page.goto(create()["payment_url"])
    panel.get_by_role("button", name=NAME).click()
    expect(panel.get_by_test_id("notice")).to_contain_text(notice)
    expect(page.locator("#live")).to_contain_text(notice)
    picture(page)
    panel.get_by_role("button", name=NAME).click()
    expect(panel.get_by_role("heading", name="Review and pay")).to_be_visible()
    assert not Payment.objects.exists()


def test_answer_to_an_older_prompt_continues_by_itself(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet, local_chain: LocalChain
) -> None:
    wallet = add_wallet(answers={"eth_requestAccounts": [error(-32002)]})
    page.goto(create()["payment_url"])
    panel.get_by_role("button", name=NAME).click()
    expect(panel.get_by_test_id("notice")).to_be_visible()
    wallet.emit("accountsChanged", [local_chain.payer])
    expect(panel.get_by_role("heading", name="Review and pay")).to_be_visible()


def test_wallet_that_does_not_respond_can_be_left(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    add_wallet(answers={"eth_requestAccounts": [NEVER]})
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


def test_injected_wallet_without_a_name_is_offered(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    add_wallet(isInjected=True)
    page.goto(create()["payment_url"])
    panel.get_by_role("button", name="Browser wallet").click()
    expect(panel.get_by_role("heading", name="Review and pay")).to_be_visible()


def test_late_wallet_is_listed_beside_announced_one(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    add_wallet()
    page.goto(create()["payment_url"])
    names = panel.locator(".wallet__name")
    expect(names).to_have_text([NAME])
    add_wallet(name="Late", isInjected=True).arrive()
    expect(names).to_have_text([NAME, "Browser wallet"])
    panel.get_by_role("button", name="Browser wallet").click()
    expect(panel.get_by_role("heading", name="Review and pay")).to_be_visible()


def test_broken_icon_is_replaced_by_a_letter(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    add_wallet(icon="data:image/png;base64,AAAA")
    page.goto(create()["payment_url"])
    row = panel.get_by_role("button", name=NAME)
    expect(row.locator(".wallet__icon--letter")).to_have_text("S")
    expect(row.locator("img")).to_have_count(0)
