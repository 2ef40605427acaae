"""When a session ends, continues or changes, the page shows the same screens as for a wallet in the browser."""

import pytest
from playwright.sync_api import Locator, Page, expect

from payments.models import Payment
from tests.browser.conftest import Create
from tests.browser.walletconnect.conftest import NAME, Connect, send
from tests.chain import LocalChain
from tests.support.accessibility.page_rules import assert_accessible
from tests.support.walletconnect.phone import Phone
from tests.support.walletconnect.relay import Relay


@pytest.fixture
def pay(panel: Locator) -> Locator:
    return panel.get_by_role("button", name="Pay 10.50 USDC")


def test_session_ended_by_the_wallet_shows_the_list(
    panel: Locator, pay: Locator, create: Create, connect: Connect, phone: Phone
) -> None:
    topic = connect(create())
    expect(pay).to_be_visible()
    phone.does("end", topic=topic)
    expect(panel.get_by_test_id("notice")).to_contain_text("Your wallet disconnected from this page")
    expect(panel.get_by_role("button", name=NAME)).to_be_visible()


def test_session_ended_during_a_prompt_keeps_it_on_record(
    page: Page, panel: Locator, pay: Locator, create: Create, connect: Connect, phone: Phone
) -> None:
    topic = connect(create())
    pay.click()
    phone.expect("request")
    assert_accessible(page)
    phone.does("end", topic=topic)
    expect(panel).to_contain_text("Your wallet disconnected from this page")
    # The wallet may have sent a transaction before it disconnected.
    expect(panel).to_contain_text("A payment was started in this browser")
    assert not Payment.objects.exists()
    page.reload()
    expect(panel.get_by_test_id("notice")).to_contain_text("A payment was started in this browser")


def test_reload_continues_with_the_session_and_pays(
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


def test_hash_sent_while_the_relay_was_lost_arrives(
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


def test_session_ended_while_the_page_was_away_is_left(
    page: Page, panel: Locator, pay: Locator, create: Create, connect: Connect, phone: Phone
) -> None:
    request = create()
    topic = connect(request)
    expect(pay).to_be_visible()
    page.goto("about:blank")
    phone.does("end", topic=topic)
    page.goto(request["payment_url"])
    expect(panel.get_by_test_id("notice")).to_contain_text("Your wallet disconnected from this page")


def test_leaving_the_wallet_ends_session_and_relay_calls(
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
