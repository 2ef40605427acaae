"""A wallet on another device pays on a real chain. It receives the request through the relay."""

from playwright.sync_api import Locator, Page, expect

from payments.models import Payment
from tests.browser.conftest import Create
from tests.browser.walletconnect.conftest import Connect, send
from tests.chain import LocalChain
from tests.support.payments.world import Clock, look_until_decided
from tests.support.walletconnect.phone import Phone


def test_wallet_that_scanned_the_code_completes_the_request(
    page: Page, panel: Locator, create: Create, connect: Connect, phone: Phone, local_chain: LocalChain
) -> None:
    topic = connect(create())
    panel.get_by_role("button", name="Pay 10.50 USDC").click()
    asked = phone.expect("request")
    assert (asked["topic"], asked["request"]["method"]) == (topic, "eth_sendTransaction")
    assert asked["chainId"] == f"eip155:{local_chain.chain_id}"
    sent = send(page, phone, asked, local_chain)
    payment = Payment.objects.get()
    assert payment.transaction_hash == sent
    assert look_until_decided(payment, Clock()).status == "completed"
    page.evaluate("dispatchEvent(new Event('online'))")
    expect(panel.get_by_role("heading", name="Payment complete")).to_be_visible()
    assert phone.expect("ended")["topic"] == topic
