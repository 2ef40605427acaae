"""How a session ends, goes on and changes: each leads where it leads with a wallet in the browser."""

from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from payments.models import Payment
from tests.browser.conftest import Create
from tests.browser.walletconnect.conftest import NAME, Connect, send
from tests.chain import RECIPIENT, LocalChain
from tests.support.accessibility.page_rules import assert_accessible
from tests.support.walletconnect.phone import Phone, evm
from tests.support.walletconnect.relay import Relay

REFUSALS = {
    "by WalletConnect's code": (5000, "User rejected.", "You declined the payment in your wallet"),
    "by Ethereum's code": (4001, "", "You declined the payment in your wallet"),
    "in words alone": (-32000, "User rejected the transaction", "You declined the payment in your wallet"),
    "for another reason": (-32000, "nonce too low", "Check its recent activity"),
}


@pytest.fixture
def pay(panel: Locator) -> Locator:
    """The button of the review."""
    return panel.get_by_role("button", name="Pay 10.50 USDC")


@pytest.mark.parametrize("refusal", REFUSALS)
def test_a_refusal_leads_back_to_the_review_and_the_next_try_pays(
    page: Page,
    panel: Locator,
    pay: Locator,
    create: Create,
    connect: Connect,
    phone: Phone,
    local_chain: LocalChain,
    refusal: str,
) -> None:
    code, message, told = REFUSALS[refusal]
    connect(create())
    pay.click()
    phone.refuse(phone.expect("request"), code, message)
    expect(panel.get_by_test_id("notice")).to_contain_text(told)
    assert not Payment.objects.exists()
    pay.click()
    again = phone.expect("request")
    send(page, phone, again, local_chain)
    expect(panel.get_by_role("heading", name="Payment on its way")).to_be_visible()


def test_a_session_that_the_wallet_ends_leads_back_to_the_list(
    panel: Locator, pay: Locator, create: Create, connect: Connect, phone: Phone
) -> None:
    topic = connect(create())
    expect(pay).to_be_visible()
    phone.does("end", topic=topic)
    expect(panel.get_by_test_id("notice")).to_contain_text("Your wallet disconnected from this page")
    expect(panel.get_by_role("button", name=NAME)).to_be_visible()


def test_a_session_that_ends_while_the_wallet_is_asked_leaves_the_question_on_record(
    page: Page, panel: Locator, pay: Locator, create: Create, connect: Connect, phone: Phone
) -> None:
    topic = connect(create())
    pay.click()
    phone.expect("request")
    assert_accessible(page)
    phone.does("end", topic=topic)
    expect(panel).to_contain_text("Your wallet disconnected from this page")
    # The wallet may have sent something before it left.
    expect(panel).to_contain_text("A payment was started in this browser")
    assert not Payment.objects.exists()
    page.reload()
    expect(panel.get_by_test_id("notice")).to_contain_text("A payment was started in this browser")


def test_a_reload_goes_on_with_the_session_and_pays(
    page: Page,
    panel: Locator,
    pay: Locator,
    create: Create,
    connect: Connect,
    phone: Phone,
    relay: Relay,
    local_chain: LocalChain,
) -> None:
    topic = connect(create())
    expect(pay).to_be_visible()
    page.reload()
    pay.click()
    asked = phone.expect("request")
    assert asked["topic"] == topic
    send(page, phone, asked, local_chain)
    expect(panel.get_by_role("heading", name="Payment on its way")).to_be_visible()
    assert relay.methods().count("wc_proposeSession") == 1


def test_an_answer_that_comes_while_the_page_has_lost_the_relay_is_not_lost(
    page: Page,
    panel: Locator,
    pay: Locator,
    service: str,
    create: Create,
    connect: Connect,
    phone: Phone,
    relay: Relay,
    local_chain: LocalChain,
) -> None:
    connect(create())
    pay.click()
    asked = phone.expect("request")
    relay.drop(service)
    send(page, phone, asked, local_chain)
    expect(panel.get_by_role("heading", name="Payment on its way")).to_be_visible()
    assert [one["origin"] for one in relay.connections].count(service) >= 2


def test_a_session_that_was_ended_meanwhile_is_not_gone_on_with(
    page: Page, panel: Locator, pay: Locator, create: Create, connect: Connect, phone: Phone
) -> None:
    request = create()
    topic = connect(request)
    expect(pay).to_be_visible()
    page.goto("about:blank")
    phone.does("end", topic=topic)
    page.goto(request["payment_url"])
    expect(panel.get_by_test_id("notice")).to_contain_text("Your wallet disconnected from this page")


def test_who_turns_to_another_wallet_ends_the_session_and_contacts_the_relay_no_more(
    page: Page,
    panel: Locator,
    pay: Locator,
    create: Create,
    connect: Connect,
    phone: Phone,
    relay: Relay,
) -> None:
    topic = connect(create())
    expect(pay).to_be_visible()
    panel.get_by_role("button", name="Use another wallet").click()
    assert phone.expect("ended")["topic"] == topic
    before = len(relay.connections)
    page.reload()
    expect(panel.get_by_role("button", name=NAME)).to_be_visible()
    page.wait_for_load_state("networkidle")
    assert len(relay.connections) == before


def test_another_account_that_the_wallet_changes_to_is_the_one_that_pays(
    panel: Locator,
    pay: Locator,
    create: Create,
    connect: Connect,
    phone: Phone,
    account: str,
    local_chain: LocalChain,
) -> None:
    other = f"eip155:{local_chain.chain_id}:{RECIPIENT}"
    topic = connect(create(), eip155=evm(account, other))
    expect(panel).to_contain_text(local_chain.payer)
    event: dict[str, Any] = {"name": "accountsChanged", "data": [RECIPIENT]}
    phone.does("say", topic=topic, chainId=f"eip155:{local_chain.chain_id}", event=event)
    expect(panel.get_by_test_id("notice")).to_contain_text("You changed the account in your wallet")
    expect(panel).to_contain_text(RECIPIENT)


def test_an_account_that_the_wallet_takes_back_is_gone(
    panel: Locator, create: Create, connect: Connect, phone: Phone, account: str, local_chain: LocalChain
) -> None:
    other = f"eip155:{local_chain.chain_id}:{RECIPIENT}"
    topic = connect(create(), eip155=evm(account, other))
    expect(panel).to_contain_text(local_chain.payer)
    phone.does("allow", topic=topic, namespaces={"eip155": evm(other)})
    expect(panel.get_by_test_id("notice")).to_contain_text("You changed the account in your wallet")
    expect(panel).to_contain_text(RECIPIENT)
