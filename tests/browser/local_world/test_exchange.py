"""A customer of the demo shop pays from the demo exchange, without a connected wallet."""

import os
import subprocess
import sys

from playwright.sync_api import Page, expect

from tests.browser.local_world.conftest import World
from tests.processes import REPOSITORY


def _send(world: World, address: str, amount: str) -> None:
    command = [sys.executable, "-m", "demo.exchange", address, amount, "USDC"]
    environment = {**os.environ, "WORLD_DIRECTORY": str(world.settings.parent)}
    subprocess.run(command, cwd=REPOSITORY, env=environment, check=True, capture_output=True)


def test_exchange_pays_a_shop_order_in_two_parts(world: World, page: Page, troubles: list[str]) -> None:
    page.goto(world.shop)
    page.get_by_role("button", name="Pay with crypto: Night Ferry beans").click()
    page.get_by_role("button", name="Send from an exchange or another wallet").click()
    address = page.locator("#deposit-address")
    expect(address).to_be_visible()
    expect(page.locator("#deposit-amount")).to_have_text("12.50")
    _send(world, address.inner_text(), "10")
    expect(page.locator("#panel")).to_contain_text("2.50 USDC is still missing.")
    _send(world, address.inner_text(), "2.50")
    page.wait_for_url("**/orders/**")
    expect(page.get_by_test_id("order")).to_have_attribute("data-status", "paid")
    assert not [trouble for trouble in troubles if "favicon" not in trouble], troubles
