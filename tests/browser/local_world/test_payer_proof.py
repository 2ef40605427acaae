"""A transfer without a reference: the customer signs a payer proof before paying."""

from playwright.sync_api import Page, expect

from demo.services import anvil
from tests.browser.local_world.conftest import World
from tests.browser.local_world.paying import chain_named, connect_demo_wallet, create_request, read_request
from tests.pictures import picture


def test_proof_and_plain_transfer_complete_the_request(world: World, page: Page, troubles: list[str]) -> None:
    chain = chain_named(world, "Local Chain")
    request = create_request(world, chain, anvil.MERCHANT_ADDRESS, references=False)
    panel = connect_demo_wallet(page, request)
    panel.get_by_role("button", name="Pay 10.50 USDC").click()

    steps = panel.get_by_role("listitem")
    expect(steps).to_have_count(2)
    expect(steps.nth(0)).to_contain_text("Prove that this wallet is yours")
    expect(steps.nth(0)).to_have_attribute("aria-current", "step")
    message = page.get_by_test_id("demo-wallet-message")
    expect(message).to_contain_text("I will pay 10.50 USDC on Local Chain")
    expect(message).to_contain_text(request["id"])
    picture(page, "proving, behind the demo wallet")
    page.get_by_test_id("demo-wallet-confirm").click()

    expect(page.get_by_test_id("demo-wallet-amount")).to_contain_text("10.50")
    expect(page.get_by_text("Reference", exact=True)).to_have_count(0)
    expect(steps.nth(1)).to_have_attribute("aria-current", "step")
    page.get_by_test_id("demo-wallet-confirm").click()

    expect(panel.get_by_role("heading", name="Payment complete")).to_be_visible(timeout=180_000)
    paid = read_request(world, request)
    assert paid["status"] == "completed"
    assert [payment["bound_by"] for payment in paid["payments"]] == ["payer"]
    assert not troubles, troubles
