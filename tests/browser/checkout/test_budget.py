"""Until the customer chooses a wallet, the page loads at most 55 kB (compressed), and nothing too early."""

import gzip
from collections.abc import Callable
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, Response, Route, ViewportSize, expect
from pytest_django.live_server_helper import LiveServer

from chains.models import Token
from merchants.models import Merchant
from tests.browsing import DESKTOP, PHONE
from tests.conftest import Api
from tests.support.accessibility.page_rules import assert_accessible
from tests.support.embedding.wallets import announce

MAX_BYTES = 55_000
# Includes the code for Solana wallets, which loads after the first paint. This test measures gzip.
# Deployments serve Brotli, which is 3 kB smaller.
MAX_BYTES_ON_SOLANA = 57_000
SOLANA_RECIPIENT = "11111111111111111111111111111112"


def _loaded(browser: Browser, url: str, panel: str) -> dict[str, int]:
    """Open the page and wait for the panel's text; return each response's compressed size by its name."""
    responses: list[Response] = []
    context = browser.new_context(viewport=PHONE)
    try:
        page = context.new_page()
        announce(page, "Other Wallet", "data:image/svg+xml,<svg/>")
        page.on("response", lambda response: responses.append(response))
        page.goto(url)
        expect(page.locator("#panel")).to_contain_text(panel)
        page.wait_for_load_state("networkidle")
        return {_name(response): _compressed(response) for response in responses}
    finally:
        context.close()


def _name(response: Response) -> str:
    return "the page" if response.request.resource_type == "document" else response.url.rsplit("/", 1)[1]


def _compressed(response: Response) -> int:
    return len(gzip.compress(response.body(), 9))


def test_evm_page_keeps_to_the_budget_without_solana(
    live_server: LiveServer, browser: Browser, checkout: Callable[..., dict[str, Any]]
) -> None:
    loaded = _loaded(browser, f"{live_server.url}/pay/{checkout()['shortcode']}", "Other Wallet")
    # The page contains its style sheet, so that the first paint needs one response only.
    assert {"the page", "checkout.js"} <= loaded.keys() <= {"the page", "checkout.js", "icon.svg"}
    assert sum(loaded.values()) <= MAX_BYTES, loaded


def test_wallets_have_their_place_while_the_script_loads(
    live_server: LiveServer, browser: Browser, checkout: Callable[..., dict[str, Any]]
) -> None:
    context = browser.new_context(viewport=PHONE)
    try:
        page = context.new_page()
        page.route("**/checkout.js", lambda _: None)
        page.goto(f"{live_server.url}/pay/{checkout()['shortcode']}", wait_until="commit")
        panel = page.locator("#panel")
        expect(panel.locator(".skeleton__wallet")).to_be_in_viewport()
        expect(panel).to_contain_text("Choose a wallet to pay 10.50 USDC on Local Chain.")
        assert_accessible(page)
    finally:
        context.close()


@pytest.mark.parametrize("failure", ["error", "no response"])
@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_script_that_fails_to_load_is_named_in_place_of_wallets(
    live_server: LiveServer,
    browser: Browser,
    checkout: Callable[..., dict[str, Any]],
    failure: str,
    motion: Literal["no-preference", "reduce"],
) -> None:
    context = browser.new_context(viewport=PHONE, reduced_motion=motion)
    try:
        page = context.new_page()
        page.route("**/checkout.js", lambda route: route.abort() if failure == "error" else None)
        page.goto(f"{live_server.url}/pay/{checkout()['shortcode']}", wait_until="commit")
        expect(page.locator(".foot")).to_be_visible()
        if failure == "no response":
            expect(page.locator("#unloaded")).to_be_hidden()
            # Skip the animations instead of waiting for them.
            page.evaluate("document.getAnimations().forEach((animation) => animation.finish())")
        expect(page.locator("#unloaded")).to_have_text(
            "Part of this page couldn’t be loaded. Check your connection, then reload the page."
        )
        expect(page.locator("#unloaded")).to_be_visible()
        expect(page.locator(".skeleton__wallet")).to_be_hidden()
        expect(page.locator(".send-yourself a")).to_be_visible()
        assert_accessible(page)
    finally:
        context.close()


@pytest.mark.parametrize("viewport", [PHONE, DESKTOP], ids=["phone", "desktop"])
@pytest.mark.parametrize(
    ("wallet", "limit_px"), [("Other Wallet", 0), ("", 24)], ids=["a wallet", "no wallet"]
)
def test_page_keeps_its_place_once_wallets_are_looked_for(
    live_server: LiveServer,
    browser: Browser,
    checkout: Callable[..., dict[str, Any]],
    viewport: ViewportSize,
    wallet: str,
    limit_px: int,
) -> None:
    context = browser.new_context(viewport=viewport)
    try:
        page = context.new_page()
        if wallet:
            announce(page, wallet, "data:image/svg+xml,<svg/>")
        scripts: list[Route] = []
        page.route("**/checkout.js", lambda route: scripts.append(route))
        with page.expect_request("**/checkout.js"):
            page.goto(f"{live_server.url}/pay/{checkout()['shortcode']}", wait_until="commit")
        below = page.locator(".send-yourself")
        expect(below).to_be_visible()
        expect(page.locator(".foot")).to_be_visible()
        before = below.evaluate("(element) => element.getBoundingClientRect().top")
        scripts[0].continue_()
        expect(page.locator("#panel")).to_contain_text(wallet or "No wallet found")
        after = below.evaluate("(element) => element.getBoundingClientRect().top")
        assert 0 <= after - before <= limit_px
    finally:
        context.close()


def test_page_that_offers_an_address_keeps_to_the_budget(
    live_server: LiveServer, browser: Browser, checkout: Callable[..., dict[str, Any]]
) -> None:
    Merchant.objects.update(deposit_addresses=True)
    loaded = _loaded(browser, f"{live_server.url}/pay/{checkout()['shortcode']}", "Other Wallet")
    # The screen with the deposit address loads when the customer chooses it.
    assert loaded.keys() <= {"the page", "checkout.js", "icon.svg"}
    assert sum(loaded.values()) <= MAX_BYTES, loaded


@pytest.mark.usefixtures("solana")
def test_solana_page_keeps_to_the_budget_with_its_script(
    live_server: LiveServer,
    browser: Browser,
    checkout: Callable[..., dict[str, Any]],
    solana_usdc: Token,
) -> None:
    order = checkout(
        chain_id=solana_usdc.chain_id, token_id=solana_usdc.id, recipient_address=SOLANA_RECIPIENT
    )
    loaded = _loaded(browser, f"{live_server.url}/pay/{order['shortcode']}", "wallet")
    assert "solana.js" in loaded
    assert sum(loaded.values()) <= MAX_BYTES_ON_SOLANA, loaded


@pytest.mark.usefixtures("solana")
def test_page_without_solana_wallet_waits_for_no_solana_script(
    live_server: LiveServer,
    browser: Browser,
    checkout: Callable[..., dict[str, Any]],
    solana_usdc: Token,
) -> None:
    order = checkout(
        chain_id=solana_usdc.chain_id, token_id=solana_usdc.id, recipient_address=SOLANA_RECIPIENT
    )
    context = browser.new_context(viewport=PHONE)
    try:
        page = context.new_page()
        page.route("**/solana.js", lambda _: None)
        page.goto(f"{live_server.url}/pay/{order['shortcode']}", wait_until="commit")
        expect(page.locator("#panel")).to_contain_text("No wallet found in this browser")
    finally:
        context.close()


def test_page_is_compressed_for_the_browser(public: Api, checkout: Callable[..., dict[str, Any]]) -> None:
    path = f"/pay/{checkout()['shortcode']}"
    response = public.get(path, **{"Accept-Encoding": "gzip"})
    assert response["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in response["Vary"]
    assert len(response.content) < len(public.get(path).content) / 2
