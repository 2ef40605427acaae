"""The list of a wallet's tokens is accessible in all its forms, and no number in it wraps."""

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
    """The requested token can also be paid with other tokens, on this chain and another."""
    settings.ROUTING_PROVIDERS = ["lifi"]
    Chain.objects.create(id=ELSEWHERE, name="Far Chain", chain_type="evm", native_symbol="FAR")


def respond(page: Page, address: str, body: dict[str, Any], status: int = 200) -> None:
    page.route(address, lambda route: route.fulfill(json=body, status=status))


def held(symbol: str, index: int, chain_id: int, raw: str = "5000000") -> dict[str, Any]:
    """Return a token outside the catalogue, as the server returns it."""
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


def test_long_list_is_accessible_while_loading_and_searched(
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
    expect(panel.locator(".token", has_text="TOKEN3")).to_contain_text("Not enough")
    expect(panel.get_by_role("button", name="TOKEN3")).to_have_count(0)
    expect(panel.locator(".token", has_text="TOKEN2").first).to_contain_text("Check its address: 0x")
    search = panel.get_by_label("Find a token or network")
    search.fill("token2 far")
    expect(panel.locator(".token:visible")).to_have_count(0)
    search.fill("far token3")
    expect(panel.locator(".token:visible")).to_have_count(1)
    search.fill("nonesuch")
    expect(panel.get_by_text("No tokens match your search.")).to_be_visible()
    assert_accessible(page)


def test_empty_token_list_is_accessible(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    add_wallet(accounts=["0x" + "ab" * 20])
    respond(page, "**/discover-wallet-tokens", {"tokens": [], "unavailable": []})
    page.goto(create()["payment_url"])
    panel.get_by_role("button", name=NAME).click()
    expect(panel).to_contain_text("has no token that you can pay with")
    assert_accessible(page)


def test_list_without_routes_is_accessible(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet, chain: Chain
) -> None:
    add_wallet()
    respond(page, "**/discover-wallet-tokens", {"tokens": [held("GOOD", 2, chain.pk)], "unavailable": []})
    open_list(page, panel, create)
    error = {"code": "routing_unavailable", "message": "Not now.", "request_id": "req_7"}
    respond(page, "**/routes", {"error": error}, status=503)
    panel.locator("button.token", has_text="GOOD").click()
    expect(panel).to_contain_text("Other tokens can’t be offered at the moment")
    assert_accessible(page)


# Balances, and their English text in the list. The text is rounded down.
LONG = {
    "0.123456789012345678": "0.123456",
    "1234.567891234567891234": "1,234.56",
    "123456789012.123456789012345678": "123,456,789,012",
    "1234567890123456.0": "> 999,999,999,999",
    "0.000000000000000001": "< 0.000001",
}
# Counts the lines of each balance and value. One call reads them all, because the list is redrawn.
NUMBERS = """(panel) => [...panel.querySelectorAll(".token__held > span, .token__held .piece")].map((element) => {
  const range = document.createRange();
  range.selectNodeContents(element);
  const tops = [...range.getClientRects()].map(({ top }) => Math.round(top));
  return [element.textContent.replace(/[\u2066-\u2069]/g, ""), new Set(tops).size];
})"""


@pytest.mark.parametrize(
    ("tag", "width", "dollars"),
    [
        ("en", 390, "$12,345,678.90"),
        ("de", 320, "12.345.678,90\xa0$"),
        ("ar", 320, "12,345,678.90\xa0US$"),
    ],
    ids=["en", "de", "ar"],
)
def test_long_balances_stay_on_one_line_of_a_phone(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet, tag: str, width: int, dollars: str
) -> None:
    add_wallet()
    tokens = [held(f"TOKEN{index}", index, ELSEWHERE) for index in range(1, len(LONG) + 1)]
    for token, formatted in zip(tokens, LONG, strict=True):
        raw = formatted.replace(".", "").lstrip("0")
        token["balance"] = {"raw": raw, "formatted": formatted, "decimals": 18}
        token["usd"] = "12345678.90"
    respond(page, "**/discover-wallet-tokens", {"tokens": tokens, "unavailable": []})
    page.set_viewport_size({"width": width, "height": 844})
    page.goto(f"{create()['payment_url']}?lang={tag}")
    panel.get_by_role("button", name=NAME).click()
    panel.locator("#other-token").click()
    expect(panel.locator(".token").filter(has_text="TOKEN")).to_have_count(len(LONG))
    lines = dict(panel.evaluate(NUMBERS))
    separators = str.maketrans({" ": "\xa0", **({".": ",", ",": "."} if tag == "de" else {})})
    numbers = [*(shown.translate(separators) for shown in LONG.values()), dollars]
    assert {number: lines.get(number) for number in numbers} == dict.fromkeys(numbers, 1)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    picture(page, f"tokens with long balances in {tag}")
