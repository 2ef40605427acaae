"""Where no reference may ride along, the customer proves the wallet by a signature before paying."""

import json

from playwright.sync_api import Page, Route, expect

from demo.services import anvil
from tests.browser.local_world.conftest import World
from tests.browser.local_world.paying import chain_of, connect_demo_wallet, create_request, read_request
from tests.browser.windows import ON_DESKTOP, ON_PHONE
from tests.pictures import picture


def test_a_proof_and_a_plain_transfer_pay(world: World, page: Page, troubles: list[str]) -> None:
    chain = chain_of(world, "evm")
    assert chain
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

    expect(panel.get_by_role("heading", name="Payment complete")).to_be_visible(timeout=60_000)
    paid = read_request(world, request)
    assert paid["status"] == "completed"
    assert [payment["bound_by"] for payment in paid["payments"]] == ["payer"]
    assert not troubles, troubles


@ON_PHONE
def test_a_declined_signature_leads_back_to_the_review_and_pays_nothing(world: World, page: Page) -> None:
    chain = chain_of(world, "evm")
    assert chain
    request = create_request(world, chain, anvil.MERCHANT_ADDRESS, references=False)
    panel = connect_demo_wallet(page, request)
    pay = panel.get_by_role("button", name="Pay 10.50 USDC")
    pay.click()
    page.get_by_test_id("demo-wallet-reject").click()

    expect(pay).to_be_visible()
    expect(panel.get_by_test_id("notice")).to_contain_text("You declined the signature")
    picture(page, "review, signature declined")
    assert read_request(world, request)["payments"] == []


@ON_DESKTOP
def test_a_signature_that_the_server_refuses_is_told_and_nothing_is_sent(world: World, page: Page) -> None:
    chain = chain_of(world, "evm")
    assert chain
    request = create_request(world, chain, anvil.MERCHANT_ADDRESS, references=False)
    page.route("**/payer-proof", _spoil_signature)
    panel = connect_demo_wallet(page, request)
    panel.get_by_role("button", name="Pay 10.50 USDC").click()
    page.get_by_test_id("demo-wallet-confirm").click()

    expect(panel.get_by_test_id("notice")).to_contain_text("does not match this wallet")
    expect(page.get_by_test_id("demo-wallet-window")).to_have_count(0)
    assert read_request(world, request)["payments"] == []


@ON_PHONE
def test_a_node_that_fails_for_a_moment_costs_no_second_signature(world: World, page: Page) -> None:
    chain = chain_of(world, "evm")
    assert chain
    request = create_request(world, chain, anvil.MERCHANT_ADDRESS, references=False)
    error = {"type": "upstream_error", "code": "node_unavailable", "message": "Try again.", "param": None}
    page.route(
        "**/payer-proof",
        lambda route: route.fulfill(status=503, json={"error": error}, headers={"Retry-After": "1"}),
        times=1,
    )
    panel = connect_demo_wallet(page, request)
    panel.get_by_role("button", name="Pay 10.50 USDC").click()
    page.get_by_test_id("demo-wallet-confirm").click()

    expect(page.get_by_test_id("demo-wallet-amount")).to_contain_text("10.50")


def _spoil_signature(route: Route) -> None:
    """Send a signature on with one byte changed."""
    body = json.loads(route.request.post_data or "")
    changed = "00" if body["signature"][10:12] != "00" else "11"
    body["signature"] = body["signature"][:10] + changed + body["signature"][12:]
    route.continue_(post_data=json.dumps(body))
