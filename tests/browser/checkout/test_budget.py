"""Before a wallet is chosen the page loads at most 60 kB of compressed script and style, and no part too early."""

import gzip
import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Browser, Response, expect
from pytest_django.live_server_helper import LiveServer

from chains.models import Token
from tests.browsing import PHONE
from tests.conftest import Api
from tests.support.embedding.wallets import announce

MOST_BYTES = 60_000
SOLANA_RECIPIENT = "11111111111111111111111111111112"


def _loaded(browser: Browser, url: str, panel: str) -> dict[str, int]:
    """Open the page until its panel shows the text; return what came, by name, in bytes as a server compresses it."""
    answers: list[Response] = []
    context = browser.new_context(viewport=PHONE)
    try:
        page = context.new_page()
        announce(page, "Other Wallet", "data:image/svg+xml,<svg/>")
        page.on("response", lambda answer: answers.append(answer))
        page.goto(url)
        expect(page.locator("#panel")).to_contain_text(panel)
        page.wait_for_load_state("networkidle")
        return {_name(answer): _compressed(answer) for answer in answers}
    finally:
        context.close()


def _name(answer: Response) -> str:
    return "the page" if answer.request.resource_type == "document" else answer.url.rsplit("/", 1)[1]


def _compressed(answer: Response) -> int:
    """Of the page itself count what it says in scripts and styles, data and words included."""
    body = answer.body()
    if answer.request.resource_type == "document":
        body = b"".join(re.findall(rb"<(?:script|style).*?</(?:script|style)>", body, re.DOTALL))
    return len(gzip.compress(body, 9))


def test_a_page_of_an_evm_chain_keeps_to_the_budget_and_loads_nothing_of_solana(
    live_server: LiveServer, browser: Browser, checkout: Callable[..., dict[str, Any]]
) -> None:
    loaded = _loaded(browser, f"{live_server.url}/pay/{checkout()['shortcode']}", "Other Wallet")
    # The style sheet is in the page, so that the first paint waits for one answer alone.
    assert {"the page", "checkout.js"} <= loaded.keys() <= {"the page", "checkout.js", "icon.svg"}
    assert sum(loaded.values()) <= MOST_BYTES, loaded


@pytest.mark.usefixtures("solana")
def test_a_page_of_solana_keeps_to_the_budget_with_the_part_that_it_needs(
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
    assert sum(loaded.values()) <= MOST_BYTES, loaded


def test_the_page_itself_is_compressed(public: Api, checkout: Callable[..., dict[str, Any]]) -> None:
    path = f"/pay/{checkout()['shortcode']}"
    answer = public.get(path, **{"Accept-Encoding": "gzip"})
    assert answer["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in answer["Vary"]
    assert len(answer.content) < len(public.get(path).content) / 2
