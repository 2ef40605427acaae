"""If a wallet speeds a payment up, the page follows the new hash.

If it cancels it, the page shows that nothing was sent.
"""

from typing import Any

from playwright.sync_api import Locator, Page, expect

from payments.models import Payment
from tests.browser.conftest import AddWallet, Create
from tests.browser.wallets.changing.replacing import cancel, held_back, speed_up, until_followed
from tests.browser.wallets.steps import ON_ITS_WAY, review, send
from tests.chain import LocalChain
from tests.pictures import picture
from tests.support.accessibility.page_rules import assert_accessible
from tests.support.wallets.stub import NAME


def _pay(page: Page, panel: Locator, create: Create) -> tuple[dict[str, Any], str]:
    """Send a payment that stays pending; return the request and the transaction's hash."""
    request = create()
    send(page, review(page, panel, request))
    until_followed(page, request)
    return request, Payment.objects.get().transaction_hash


def test_sped_up_payment_continues_under_its_new_hash(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet, local_chain: LocalChain
) -> None:
    wallet = add_wallet(findsByNonce=False)
    with held_back(local_chain):
        _, sent = _pay(page, panel, create)
        calls = len(wallet.asked("eth_getTransactionByHash"))
        page.wait_for_function(
            "([key, calls]) => window.stubs[key].asked.filter(({method}) => "
            "method === 'eth_getTransactionByHash').length > calls",
            arg=[wallet.key, calls],
        )
        # A pending transaction is neither sped up nor cancelled.
        expect(panel.get_by_role("heading", name=ON_ITS_WAY)).to_be_visible()
        assert Payment.objects.count() == 1
        new = speed_up(local_chain, sent)
        with page.expect_request("**/payments") as submitted:
            local_chain.mine(5)
    assert submitted.value.post_data_json["transaction_hash"] == new
    expect(panel.get_by_role("heading", name=ON_ITS_WAY)).to_be_visible()
    expect(panel).to_contain_text(new)
    expect(panel.get_by_test_id("doubt")).to_have_count(0)


def test_payment_sped_up_while_the_page_is_closed_is_followed(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet, local_chain: LocalChain
) -> None:
    add_wallet()
    with held_back(local_chain):
        request, sent = _pay(page, panel, create)
        page.goto("about:blank")
        new = speed_up(local_chain, sent)
        local_chain.mine(4)
    with page.expect_request("**/payments") as submitted:
        page.goto(request["payment_url"])
    assert submitted.value.post_data_json["transaction_hash"] == new
    expect(panel).to_contain_text(new)


def test_payment_cancelled_in_the_wallet_can_be_made_again(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet, local_chain: LocalChain
) -> None:
    add_wallet()
    with held_back(local_chain):
        _, sent = _pay(page, panel, create)
        cancel(local_chain, sent)
        local_chain.mine(5)
        expect(panel.get_by_test_id("doubt")).to_contain_text("Cancelled in your wallet")
    assert_accessible(page)
    picture(page, "cancelled in the wallet")
    page.reload()
    expect(panel.get_by_test_id("doubt")).to_contain_text("Cancelled in your wallet")
    expect(panel.get_by_role("button", name=NAME)).to_be_visible()
    assert Payment.objects.count() == 1
