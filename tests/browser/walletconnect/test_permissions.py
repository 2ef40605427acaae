"""A swap by a wallet on another device. The page reads the wallet's allowance from the server."""

import re

from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Create
from tests.browser.walletconnect.conftest import Connect
from tests.support.swaps.world import SwapWorld
from tests.support.walletconnect.phone import Phone

SEVERAL_POLLS_MS = 7_000


def test_payment_follows_once_the_server_sees_the_permission(
    page: Page, panel: Locator, create: Create, connect: Connect, phone: Phone, routed: SwapWorld
) -> None:
    dai = routed.token(routed.first_row, "DAI")
    routed.approve(routed.first, dai.contract_address, 0)
    page.clock.install()
    usdc = routed.token(routed.second_row, "USDC")
    connect(create(token_id=usdc.pk, chain_id=usdc.chain_id))
    panel.get_by_role("button", name="Pay with another token").click()
    panel.get_by_role("button", name=re.compile(r"^DAI\b.*Local Chain")).click()
    panel.get_by_role("button", name="Compare two ways to pay").click()
    panel.get_by_role("button", name="Fastest").click()
    panel.get_by_role("button", name=re.compile("^Pay [0-9]")).click()
    permission = phone.expect("request")
    assert permission["request"]["params"][0]["data"].startswith("0x095ea7b3")
    # The wallet can't return receipts, so the page doesn't request them.
    phone.answer(permission, routed.sign_and_send(routed.first, permission["request"]["params"][0]))
    expect(panel.get_by_role("heading", name="Waiting for")).to_be_visible()
    page.clock.run_for(SEVERAL_POLLS_MS)
    payment = phone.expect("request")
    assert payment["request"]["method"] == "eth_sendTransaction"
    expect(panel).to_have_attribute("data-screen", "confirming")
    with page.expect_response("**/payments") as submitted:
        phone.answer(payment, routed.sign_and_send(routed.first, payment["request"]["params"][0]))
    assert submitted.value.status == 201
