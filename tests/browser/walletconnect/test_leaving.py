"""What stays of a session that its customer has turned away from."""

from playwright.sync_api import Locator, Page, expect

from merchants.models import Merchant
from payments.models import Payment
from tests.browser.conftest import Create
from tests.browser.walletconnect.conftest import NAME, Connect, pairing_uri, send
from tests.chain import LocalChain
from tests.support.walletconnect.phone import Phone, evm


def test_what_is_sent_after_the_customer_turned_away_is_kept(
    page: Page, panel: Locator, create: Create, connect: Connect, phone: Phone, local_chain: LocalChain
) -> None:
    topic = connect(create())
    panel.get_by_role("button", name="Pay 10.50 USDC").click()
    asked = phone.expect("request")
    panel.get_by_role("button", name="I don’t see the request in my wallet").click()
    panel.get_by_role("button", name="Use another wallet").click()
    expect(panel.get_by_role("button", name=NAME)).to_be_visible()
    # Not even another try takes the wallet's answer away.
    phone.scan(pairing_uri(panel))
    sent = send(page, phone, asked, local_chain)
    expect(panel.get_by_role("heading", name="Payment on its way")).to_be_visible()
    assert Payment.objects.get().transaction_hash == sent
    assert phone.expect("ended")["topic"] == topic


def test_a_session_that_another_merchant_was_named_in_is_not_gone_on_with(
    page: Page, panel: Locator, create: Create, connect: Connect, phone: Phone
) -> None:
    topic = connect(create())
    expect(panel.get_by_role("button", name="Pay 10.50 USDC")).to_be_visible()
    Merchant.objects.update(display_name="Rye and Sons")
    page.reload()
    proposal = phone.scan(pairing_uri(panel))
    assert proposal["params"]["proposer"]["metadata"]["name"] == "Rye and Sons"
    assert phone.expect("ended")["topic"] == topic


def test_who_turns_away_and_back_at_once_is_connected_anew(
    panel: Locator, create: Create, connect: Connect, phone: Phone, account: str
) -> None:
    topic = connect(create())
    panel.get_by_role("button", name="Use another wallet").click()
    assert phone.approve(phone.scan(pairing_uri(panel)), eip155=evm(account)) != topic
    expect(panel.get_by_role("button", name="Pay 10.50 USDC")).to_be_visible()
    assert phone.expect("ended")["topic"] == topic
