"""The list of what a wallet can pay with reads well in each of its shapes, and so do the routes."""

from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from chains.models import Chain, Token
from tests.browser.conftest import AddWallet, Create
from tests.pictures import picture
from tests.support.accessibility.page_rules import assert_accessible
from tests.support.wallets.stub import NAME

ELSEWHERE = 777


@pytest.fixture(autouse=True)
def routed(service: str, settings: Any, dai: Token, ether: Token) -> None:  # in the catalogue
    """Other tokens than the requested one are offered, on another chain as well."""
    settings.ROUTING_PROVIDERS = ["lifi"]
    Chain.objects.create(id=ELSEWHERE, name="Far Chain", chain_type="evm", native_symbol="FAR")


def answer(page: Page, address: str, body: dict[str, Any], status: int = 200) -> None:
    """Have the server say this."""
    page.route(address, lambda route: route.fulfill(json=body, status=status))


def held(symbol: str, index: int, chain_id: int, raw: str = "5000000") -> dict[str, Any]:
    """Return a token that the catalogue does not know, as the server tells of it."""
    token = {"id": None, "symbol": symbol, "name": f"{symbol} coin", "decimals": 6}
    token["contract_address"] = f"0x{index:040x}"
    return {
        "chain_id": chain_id,
        "token": token,
        "balance": {"raw": raw, "formatted": "5.000000", "decimals": 6},
        "usd": "4.99",
        "sufficient": index % 2 == 0,
    }


def open_list(page: Page, panel: Locator, create: Create) -> None:
    page.goto(create()["payment_url"])
    panel.get_by_role("button", name=NAME).click()
    panel.get_by_role("button", name="Pay with another token").click()
    expect(panel.locator("#panel-heading")).to_be_focused()


def test_a_long_list_while_it_comes_and_searched_in_vain(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet, chain: Chain
) -> None:
    add_wallet()
    tokens = [held(f"TOKEN{index}", index, (chain.pk, ELSEWHERE)[index % 2]) for index in range(1, 12)]
    waiting: list[Route] = []
    page.route("**/discover-wallet-tokens", lambda route: waiting.append(route))
    with page.expect_request("**/discover-wallet-tokens"):
        open_list(page, panel, create)
    expect(panel).to_contain_text("Looking for more tokens")
    assert_accessible(page)
    missing = [{"chain_id": ELSEWHERE, "code": "node_unavailable"}]
    waiting[0].fulfill(json={"tokens": tokens, "unavailable": missing})
    expect(panel).to_contain_text("Far Chain can’t be reached")
    assert_accessible(page)
    panel.get_by_label("Find a token or network").fill("nonesuch")
    expect(panel.get_by_text("No tokens match your search.")).to_be_visible()
    assert_accessible(page)


def test_a_wallet_with_nothing_to_pay_with(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    add_wallet(accounts=["0x" + "ab" * 20])
    answer(page, "**/discover-wallet-tokens", {"tokens": [], "unavailable": []})
    page.goto(create()["payment_url"])
    panel.get_by_role("button", name=NAME).click()
    expect(panel).to_contain_text("has no token that you can pay with")
    assert_accessible(page)


def test_a_list_of_which_nothing_can_be_offered_now(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet, chain: Chain
) -> None:
    add_wallet()
    answer(page, "**/discover-wallet-tokens", {"tokens": [held("GOOD", 2, chain.pk)], "unavailable": []})
    open_list(page, panel, create)
    error = {"type": "upstream_error", "code": "routing_unavailable", "message": "Not now.", "param": None}
    answer(page, "**/routes", {"error": error}, status=503)
    panel.locator("button.token", has_text="GOOD").click()
    expect(panel).to_contain_text("Other tokens can’t be offered at the moment")
    assert_accessible(page)


# As the wallet holds it, and as the list shows it: never more than there is.
LONG = {
    "0.123456789012345678": "0.123456",
    "1234.567891234567891234": "1,234.56",
    "123456789012.123456789012345678": "123,456,789,012",
    "1234567890123456.0": "> 999,999,999,999",
    "0.000000000000000001": "< 0.000001",
}
# The balances and values as they are shown, each with its number of lines, at one moment: the list is redrawn.
NUMBERS = """(panel) => [...panel.querySelectorAll(".token__held > span, .token__held .piece")].map((element) => {
  const range = document.createRange();
  range.selectNodeContents(element);
  const tops = [...range.getClientRects()].map(({ top }) => Math.round(top));
  return [element.textContent.replace(/[\u2066-\u2069]/g, ""), new Set(tops).size];
})"""


@pytest.mark.parametrize("tag", ["en", "de", "ar"])
@pytest.mark.parametrize("width", [390, 320])
def test_no_number_in_the_list_breaks_or_sticks_out(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet, tag: str, width: int
) -> None:
    add_wallet()
    tokens = [held(f"TOKEN{index}", index, ELSEWHERE) for index in range(1, len(LONG) + 1)]
    for token, formatted in zip(tokens, LONG, strict=True):
        raw = formatted.replace(".", "").lstrip("0")
        token["balance"] = {"raw": raw, "formatted": formatted, "decimals": 18}
        token["usd"] = "12345678.90"
    answer(page, "**/discover-wallet-tokens", {"tokens": tokens, "unavailable": []})
    page.set_viewport_size({"width": width, "height": 844})
    page.goto(f"{create()['payment_url']}?lang={tag}")
    panel.get_by_role("button", name=NAME).click()
    panel.locator("#other-token").click()
    expect(panel.locator(".token").filter(has_text="TOKEN")).to_have_count(len(LONG))
    lines = dict(panel.evaluate(NUMBERS))
    numbers = [*(shown.replace(" ", "\u00a0") for shown in LONG.values()), "$12,345,678.90"]
    assert {number: lines.get(number) for number in numbers} == dict.fromkeys(numbers, 1)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    picture(page, f"tokens with long balances in {tag}")
