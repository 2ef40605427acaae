"""A Solana wallet on another device must support signing and sending in one step."""

from playwright.sync_api import Locator, Page, expect

from payments.models import Payment
from tests.browser.conftest import Create
from tests.browser.walletconnect.conftest import NAME, Connect, pairing_uri
from tests.support.solana.ledger import LocalLedger
from tests.support.walletconnect.phone import Message, Phone

NETWORK = "solana:localnet"
SEND = "solana_signAndSendTransaction"


def allowed(address: str, *methods: str) -> Message:
    return {"accounts": [f"{NETWORK}:{address}"], "chains": [NETWORK], "methods": [*methods], "events": []}


def test_solana_wallet_signs_and_sends_by_itself(
    page: Page, panel: Locator, create_on_solana: Create, phone: Phone, local_ledger: LocalLedger
) -> None:
    page.goto(create_on_solana()["payment_url"])
    proposal = phone.scan(pairing_uri(panel))
    wanted = {
        "chains": [NETWORK],
        "methods": [SEND, "solana_signTransaction", "solana_signMessage"],
        "events": ["accountsChanged"],
    }
    assert proposal["params"]["optionalNamespaces"] == {"solana": wanted}
    phone.approve(proposal, solana=allowed(local_ledger.payer, SEND, "solana_signMessage"))
    panel.get_by_role("button", name="Pay 10.50 USDC").click()
    asked = phone.expect("request")
    assert (asked["request"]["method"], asked["chainId"]) == (SEND, NETWORK)
    assert asked["request"]["params"]["pubkey"] == local_ledger.payer
    signature = local_ledger.sign_and_send(asked["request"]["params"]["transaction"])
    with page.expect_response("**/payments") as submitted:
        phone.answer(asked, {"signature": signature})
    assert submitted.value.status == 201
    assert Payment.objects.get().transaction_hash == signature


def test_solana_wallet_that_only_signs_can_not_connect(
    panel: Locator, create_on_solana: Create, connect: Connect, phone: Phone, local_ledger: LocalLedger
) -> None:
    topic = connect(create_on_solana(), solana=allowed(local_ledger.payer, "solana_signTransaction"))
    expect(panel.get_by_test_id("notice")).to_contain_text(f"{NAME} can’t send this payment")
    assert phone.expect("ended")["topic"] == topic
    assert not Payment.objects.exists()
