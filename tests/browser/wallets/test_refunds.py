"""A refund from end to end: the customer signs for an address, the merchant signs the transfer, the chain decides."""

import json
from typing import Any

import pytest
from eth_account import Account
from eth_account.messages import encode_defunct
from playwright.sync_api import Locator, Page, expect

from payments.models import Payment, PaymentRequest
from tests.browser.conftest import TOUCHED, AddSolanaWallet, AddWallet, Create
from tests.browsing import DESKTOP
from tests.chain import LocalChain
from tests.conftest import Api
from tests.pictures import picture
from tests.support.accessibility.page_rules import assert_accessible
from tests.support.payments.world import Clock, look_until_decided, pay, submit
from tests.support.solana.ledger import LocalLedger
from tests.support.solana.world import decide
from tests.support.wallets.stub import NAME
from webhooks.models import Event

CUSTOMER = "0x8ba1f109551bD432803012645Ac136ddd64DBA72"


def refund_of(api: Api, request: PaymentRequest, amount: str) -> dict[str, Any]:
    answer = api.post(f"/api/payment-requests/{request.id}/refunds", {"amount": amount})
    assert answer.json()["status"] == "requires_address"
    made: dict[str, Any] = answer.json()
    return made


def name_address(page: Page, refund: dict[str, Any], address: str) -> None:
    """Enter the address on the customer's page, which then shows the text to sign."""
    page.goto(refund["claim_url"])
    picture(page, "refund, address")
    assert_accessible(page)
    page.get_by_label("Address on").fill("0x1234")
    page.get_by_role("button", name="Show the text to sign").click()
    expect(page.get_by_role("alert")).to_be_visible()
    picture(page, "refund, address refused")
    assert_accessible(page)
    page.get_by_label("Address on").fill(address)
    page.get_by_role("button", name="Show the text to sign").click()
    expect(page.locator("#proof-text")).to_contain_text(address)
    picture(page, "refund, text to sign")
    assert_accessible(page)


def send(page: Page, panel: Locator, refund: dict[str, Any], amount: str) -> None:
    """Sign the refund's transaction on the merchant's page."""
    page.goto(f"{refund['refund_url']}/by-hand")
    picture(page, "refund, by hand")
    assert_accessible(page)
    page.goto(refund["refund_url"])
    picture(page, "refund, to be sent")
    panel.get_by_role("button", name=NAME).click()
    with page.expect_response("**/payments") as answer:
        panel.get_by_role("button", name=f"Refund {amount}").click()
    assert answer.value.ok


def completed(api: Api, refund: dict[str, Any]) -> None:
    shown = api.get(f"/api/refunds/{refund['id']}").json()
    assert (shown["status"], shown["address_source"]) == ("completed", "customer")
    events = [json.loads(bytes(event.body)) for event in Event.objects.filter(type="refund.completed")]
    assert [event["data"]["object"]["id"] for event in events] == [refund["id"]]


@pytest.mark.parametrize("page", [{"viewport": DESKTOP}, TOUCHED], ids=["desktop", "phone"], indirect=True)
def test_a_part_goes_back_to_the_address_that_the_customer_signed_for(
    api: Api, page: Page, panel: Locator, create: Create, add_wallet: AddWallet, local_chain: LocalChain
) -> None:
    request = PaymentRequest.objects.get(pk=create()["id"])
    look_until_decided(submit(request, pay(local_chain, request)), Clock())
    refund = refund_of(api, request, "4")
    wallet = add_wallet()
    name_address(page, refund, CUSTOMER)
    text = str(page.locator("#proof-text").text_content())
    signature = Account.sign_message(encode_defunct(text=text), local_chain.payer_key).signature.hex()
    wallet.plan("personal_sign", {"gives": "0x" + signature.removeprefix("0x")})
    page.get_by_role("button", name=f"Sign with {NAME}").click()
    expect(page.get_by_text("still has to send it")).to_be_visible()
    expect(page.locator("main")).to_contain_text(CUSTOMER)
    picture(page, "refund, waiting for the merchant")

    before = local_chain.token_balance(local_chain.usdc, CUSTOMER)
    sent = api.get(f"/api/refunds/{refund['id']}").json()
    send(page, panel, sent, "4.00 USDC")
    look_until_decided(Payment.objects.get(request__is_refund=True), Clock())
    assert local_chain.token_balance(local_chain.usdc, CUSTOMER) - before == 4_000_000
    completed(api, refund)
    page.goto(refund["claim_url"])
    expect(page.get_by_text("The refund has arrived")).to_be_visible()
    picture(page, "refund, arrived")
    page.goto(f"{sent['refund_url']}/receipt")
    expect(page.get_by_role("heading", name="Refund receipt")).to_be_visible()
    picture(page, "refund, receipt")
    assert_accessible(page)


def test_a_refund_on_solana_is_signed_for_and_sent(
    api: Api,
    page: Page,
    panel: Locator,
    create_on_solana: Create,
    add_solana_wallet: AddSolanaWallet,
    local_ledger: LocalLedger,
) -> None:
    request = PaymentRequest.objects.get(pk=create_on_solana()["id"])
    move = local_ledger.token_move(request.recipient_address, request.amount, bytes(request.reference))
    assert decide(local_ledger, request, local_ledger.send(move)).status == "completed"
    refund = refund_of(api, request, "4")
    customer = str(local_ledger.new_wallet(usdc=1).pubkey())
    add_solana_wallet()
    name_address(page, refund, customer)
    page.get_by_role("button", name=f"Sign with {NAME}").click()
    expect(page.get_by_text("still has to send it")).to_be_visible()

    send(page, panel, api.get(f"/api/refunds/{refund['id']}").json(), "4.00 USDC")
    carrier = PaymentRequest.objects.get(is_refund=True)
    decide(local_ledger, carrier, carrier.payments.get().transaction_hash)
    assert local_ledger.token_balance(customer) == 4_000_001
    completed(api, refund)
