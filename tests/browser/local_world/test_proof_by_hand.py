"""The demo wallet signs the text of who sends by hand, on both families of chains."""

import pytest
from playwright.sync_api import Page, expect

from demo.services import anvil
from demo.solana.mint import MERCHANT
from tests.browser.local_world.conftest import World
from tests.browser.local_world.paying import chain_of, create_request
from tests.browsing import DESKTOP, PHONE
from tests.pictures import picture

RECIPIENTS = {"evm": anvil.MERCHANT_ADDRESS, "solana": str(MERCHANT.pubkey())}


@pytest.mark.parametrize(
    ("page", "family"),
    [(DESKTOP, "evm"), (PHONE, "solana")],
    ids=["evm on a desktop", "solana on a phone"],
    indirect=["page"],
)
def test_it_gives_its_address_and_signs_and_the_page_says_where_to_send(
    world: World, page: Page, troubles: list[str], family: str
) -> None:
    chain = chain_of(world, family)
    if chain is None:
        pytest.skip("Surfnet has no build for this machine.")
    request = create_request(world, chain, RECIPIENTS[family], references=False)
    page.goto(request["payment_url"] + "/by-hand")
    page.get_by_role("button", name="Use the address from Demo Wallet").click()
    page.get_by_test_id("demo-wallet-confirm").click()
    expect(page.get_by_role("button", name="Show the text to sign")).to_be_focused()
    page.keyboard.press("Enter")

    page.get_by_role("button", name="Sign with Demo Wallet").click()
    message = page.get_by_test_id("demo-wallet-message")
    expect(message).to_contain_text(request["id"])
    page.get_by_test_id("demo-wallet-confirm").click()

    expect(page.get_by_role("heading", name="Now send 10.50 USDC")).to_be_visible()
    expect(page.locator("#recipient")).to_have_text(RECIPIENTS[family])
    picture(page, f"by-hand-proved-{family}")
    assert not troubles, troubles
