"""Without a project id nothing of WalletConnect is on the page, and the page may call nobody but its service."""

from typing import Any

from playwright.sync_api import Locator, Page, expect

from checkout.languages import language
from merchants.languages import LANGUAGES
from tests.browser.conftest import AddWallet, Create
from tests.conftest import Api
from tests.support.wallets.stub import NAME


def test_the_page_says_nothing_of_it_in_any_language(public: Api, create: Create, settings: Any) -> None:
    path = f"/pay/{create()['shortcode']}"
    answer = public.get(path)
    assert b"walletconnect" not in answer.content.lower()
    assert "; connect-src 'self'; " in answer["Content-Security-Policy"]
    assert not [tag for tag in LANGUAGES if "walletconnect" in str(language(tag).script_messages).lower()]
    # It would be, with an id.
    settings.WALLETCONNECT_PROJECT_ID = "0" * 32
    assert b"walletconnect" in public.get(path).content.lower()


def test_the_list_of_wallets_does_not_have_it_and_nothing_is_loaded(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    add_wallet()
    page.goto(create()["payment_url"], wait_until="networkidle")
    expect(panel.locator(".wallet__name")).to_have_text([NAME])
    assert asked
    assert not [url for url in asked if "walletconnect" in url]
