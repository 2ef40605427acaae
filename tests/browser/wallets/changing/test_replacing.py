"""A wallet that speeds a payment up or cancels it: the page follows the new hash, or says that nothing was sent."""

from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from payments.models import Payment
from tests.browser.conftest import AddWallet, Create
from tests.browser.wallets.changing.replacing import cancel, held_back, speed_up, until_followed
from tests.browser.wallets.test_paying import review, send
from tests.chain import LocalChain
from tests.pictures import picture
from tests.support.accessibility.page_rules import assert_accessible
from tests.support.wallets.stub import NAME

WAYS = pytest.mark.parametrize("finds_by_nonce", [True, False], ids=["by nonce", "in the blocks"])


def _pay(page: Page, panel: Locator, create: Create) -> tuple[dict[str, Any], str]:
    """Send a payment that waits to be mined; return the request and the transaction's hash."""
    request = create()
    send(page, review(page, panel, request))
    until_followed(page, request)
    return request, Payment.objects.get().transaction_hash


@WAYS
def test_a_payment_that_is_sped_up_goes_on_under_its_new_hash(
    page: Page,
    panel: Locator,
    create: Create,
    add_wallet: AddWallet,
    local_chain: LocalChain,
    finds_by_nonce: bool,
) -> None:
    add_wallet(findsByNonce=finds_by_nonce)
    with held_back(local_chain):
        _, sent = _pay(page, panel, create)
        new = speed_up(local_chain, sent)
        with page.expect_request("**/payments") as told:
            local_chain.mine(5)
    assert told.value.post_data_json["transaction_hash"] == new
    expect(panel.get_by_role("heading", name="Payment on its way")).to_be_visible()
    expect(panel).to_contain_text(new)
    expect(panel.get_by_test_id("doubt")).to_have_count(0)


def test_a_payment_that_is_sped_up_while_the_page_is_closed_is_followed_when_it_opens(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet, local_chain: LocalChain
) -> None:
    add_wallet()
    with held_back(local_chain):
        request, sent = _pay(page, panel, create)
        page.goto("about:blank")
        new = speed_up(local_chain, sent)
        local_chain.mine(4)
    with page.expect_request("**/payments") as told:
        page.goto(request["payment_url"])
    assert told.value.post_data_json["transaction_hash"] == new
    expect(panel).to_contain_text(new)


@WAYS
def test_a_payment_that_is_cancelled_can_be_made_again(
    page: Page,
    panel: Locator,
    create: Create,
    add_wallet: AddWallet,
    local_chain: LocalChain,
    finds_by_nonce: bool,
) -> None:
    add_wallet(findsByNonce=finds_by_nonce)
    with held_back(local_chain):
        _, sent = _pay(page, panel, create)
        expect(panel.get_by_role("heading", name="Payment on its way")).to_be_visible()
        cancel(local_chain, sent)
        local_chain.mine(5)
        expect(panel.get_by_test_id("doubt")).to_contain_text("Cancelled in your wallet")
    assert_accessible(page)
    picture(page, "cancelled in the wallet")
    expect(panel.get_by_role("button", name=NAME)).to_be_visible()
    page.reload()
    expect(panel.get_by_test_id("doubt")).to_contain_text("Cancelled in your wallet")
    expect(panel.get_by_role("button", name=NAME)).to_be_visible()
    assert Payment.objects.count() == 1


def test_a_payment_that_waits_is_neither_sped_up_nor_cancelled(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet, local_chain: LocalChain
) -> None:
    wallet = add_wallet()
    with held_back(local_chain):
        _pay(page, panel, create)
        asked = len(wallet.asked("eth_getTransactionByHash"))
        page.wait_for_function(
            "([key, asked]) => window.stubs[key].asked.filter(({method}) => "
            "method === 'eth_getTransactionByHash').length > asked",
            arg=[wallet.key, asked],
        )
    expect(panel.get_by_role("heading", name="Payment on its way")).to_be_visible()
    assert Payment.objects.count() == 1
