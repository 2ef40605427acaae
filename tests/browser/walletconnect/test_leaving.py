"""When a customer leaves a session, it ends, and no transaction of it is lost."""

from playwright.sync_api import Locator, Page, expect

from merchants.models import Merchant
from payments.models import Payment
from tests.browser.conftest import Create
from tests.browser.walletconnect.conftest import NAME, Connect, pairing_uri, send
from tests.chain import LocalChain
from tests.support.walletconnect.phone import Phone, evm


def test_hash_sent_after_the_customer_left_is_kept(
    page: Page, panel: Locator, create: Create, connect: Connect, phone: Phone, local_chain: LocalChain
) -> None:
    topic = connect(create())
    panel.get_by_role("button", name="Pay 10.50 USDC").click()
    asked = phone.expect("request")
    panel.get_by_role("button", name="I don’t see the request in my wallet").click()
    panel.get_by_role("button", name="Use another wallet").click()
    expect(panel.get_by_role("button", name=NAME)).to_be_visible()
    # A response of the first wallet still counts after another pairing.
    phone.scan(pairing_uri(panel))
    sent = send(page, phone, asked, local_chain)
    expect(panel.get_by_role("heading", name="Payment on its way")).to_be_visible()
    assert Payment.objects.get().transaction_hash == sent
    assert phone.expect("ended")["topic"] == topic


def test_session_that_names_another_merchant_is_left(
    page: Page, panel: Locator, create: Create, connect: Connect, phone: Phone
) -> None:
    topic = connect(create())
    expect(panel.get_by_role("button", name="Pay 10.50 USDC")).to_be_visible()
    Merchant.objects.update(display_name="Rye and Sons")
    page.reload()
    proposal = phone.scan(pairing_uri(panel))
    assert proposal["params"]["proposer"]["metadata"]["name"] == "Rye and Sons"
    assert phone.expect("ended")["topic"] == topic


def test_leaving_and_returning_connects_a_new_session(
    panel: Locator, create: Create, connect: Connect, phone: Phone, account: str
) -> None:
    topic = connect(create())
    panel.get_by_role("button", name="Use another wallet").click()
    assert phone.approve(phone.scan(pairing_uri(panel)), eip155=evm(account)) != topic
    expect(panel.get_by_role("button", name="Pay 10.50 USDC")).to_be_visible()
    assert phone.expect("ended")["topic"] == topic
