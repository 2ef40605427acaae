"""The checkout with WalletConnect. The relay is local, and a phone runs the library's wallet side."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page

from tests.browsing import DESKTOP
from tests.chain import LocalChain
from tests.support.walletconnect.phone import Message, Phone, evm
from tests.support.walletconnect.relay import Relay, running

PROJECT = "0123456789abcdef0123456789abcdef"
NAME = "WalletConnect"

Connect = Callable[..., str]


@pytest.fixture
def page(
    request: pytest.FixtureRequest,
    browser: Browser,
    service: str,  # must run longer than the page, which polls it
    troubles: list[str],
    local_chain: LocalChain,
) -> Iterator[Page]:
    """A new page, as wide as a desktop unless a test names a device. Its wallets send through the local node."""
    context = browser.new_context(**{"viewport": DESKTOP, **getattr(request, "param", {})})
    context.set_default_timeout(30_000)
    context.expose_function("sendByNode", lambda sent: local_chain.rpc("eth_sendTransaction", sent))
    opened = context.new_page()
    opened.on("pageerror", lambda error: troubles.append(f"script: {error}"))
    opened.on("console", lambda message: troubles.append(message.text) if message.type == "error" else None)
    yield opened
    context.close()


@pytest.fixture(scope="session")
def running_relay() -> Iterator[Relay]:
    """The relay of all tests. Tests use the fixture `relay`."""
    with running() as relay:
        yield relay


@pytest.fixture(scope="session")
def running_phone(running_relay: Relay) -> Iterator[Phone]:
    """The phone of all tests. Tests use the fixture `phone`."""
    started = Phone(PROJECT, running_relay.url)
    yield started
    started.close()


@pytest.fixture
def relay(running_relay: Relay, settings: Any) -> Relay:
    """The relay that the service is configured with. Its list of calls is empty."""
    settings.WALLETCONNECT_PROJECT_ID = PROJECT
    settings.WALLETCONNECT_RELAY_URL = running_relay.url
    running_relay.connections.clear()
    running_relay.calls.clear()
    running_relay.is_silent = False
    return running_relay


@pytest.fixture
def phone(running_phone: Phone, relay: Relay) -> Phone:  # the service must have WalletConnect on
    """A phone whose wallet has no sessions and no requests."""
    running_phone.forget()
    return running_phone


@pytest.fixture
def account(local_chain: LocalChain) -> str:
    """The paying account in WalletConnect's notation (CAIP-10)."""
    return f"eip155:{local_chain.chain_id}:{local_chain.payer}"


@pytest.fixture
def connect(page: Page, panel: Locator, phone: Phone, account: str) -> Connect:
    """Return a function that opens a request's page, connects the phone and returns the session's topic."""

    def connect(request: dict[str, Any], **namespaces: Any) -> str:
        page.goto(request["payment_url"])
        proposal = phone.scan(pairing_uri(panel))
        return phone.approve(proposal, **(namespaces or {"eip155": evm(account)}))

    return connect


def pairing_uri(panel: Locator) -> str:
    """Choose WalletConnect; return the content of the QR code."""
    panel.get_by_role("button", name=NAME).click()
    return code(panel)


def code(panel: Locator) -> str:
    """Wait for the QR code; return its content."""
    shown = panel.locator("#pairing-uri")
    shown.wait_for(state="attached")
    return str(shown.get_attribute("data-value"))


def send(page: Page, phone: Phone, asked: Message, chain: LocalChain) -> str:
    """Have the phone send the transaction; return its hash after the page has submitted it."""
    sent = chain.send(asked["request"]["params"][0])
    with page.expect_response("**/payments") as submitted:
        phone.answer(asked, sent)
    assert submitted.value.status == 201
    return sent
