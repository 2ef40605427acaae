"""The checkout with WalletConnect on: a relay on this machine, and a phone with the library's own wallet side."""

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Locator, Page

from tests.chain import LocalChain
from tests.walletconnect.phone import Phone, evm
from tests.walletconnect.relay import Relay, running
from tests.wallets.conftest import add_wallet, create, page, panel, service, troubles

__all__ = ["add_wallet", "create", "page", "panel", "service", "troubles"]

# The browser's driver keeps an event loop in this thread, beside which Django would refuse to ask the database.
os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "true")

PROJECT = "0123456789abcdef0123456789abcdef"
NAME = "WalletConnect"

Connect = Callable[..., str]


@pytest.fixture(scope="session")
def running_relay() -> Iterator[Relay]:
    """The relay; ask for `relay` instead."""
    with running() as relay:
        yield relay


@pytest.fixture(scope="session")
def running_phone(running_relay: Relay) -> Iterator[Phone]:
    """The phone; ask for `phone` instead."""
    started = Phone(PROJECT, running_relay.url)
    yield started
    started.close()


@pytest.fixture
def relay(running_relay: Relay, settings: Any) -> Relay:
    """A relay that the service offers, and that nobody has called yet."""
    settings.WALLETCONNECT_PROJECT_ID = PROJECT
    settings.WALLETCONNECT_RELAY_URL = running_relay.url
    running_relay.connections.clear()
    running_relay.calls.clear()
    return running_relay


@pytest.fixture
def phone(running_phone: Phone, relay: Relay) -> Phone:  # noqa: ARG001 - the service has to offer it
    """A phone with a wallet that has heard of nothing yet."""
    running_phone.forget()
    return running_phone


@pytest.fixture
def account(local_chain: LocalChain) -> str:
    """The account that pays, as WalletConnect writes it."""
    return f"eip155:{local_chain.chain_id}:{local_chain.payer}"


@pytest.fixture
def connect(page: Page, panel: Locator, phone: Phone, account: str) -> Connect:
    """Open the page of a request and connect the phone to it; returns the session's topic."""

    def connect(request: dict[str, Any], **namespaces: Any) -> str:
        page.goto(request["payment_url"])
        proposal = phone.scan(pairing_uri(panel))
        return phone.approve(proposal, **(namespaces or {"eip155": evm(account)}))

    return connect


def pairing_uri(panel: Locator) -> str:
    """Choose WalletConnect; return what its code says."""
    panel.get_by_role("button", name=NAME).click()
    shown = panel.locator("#pairing-uri")
    shown.wait_for(state="attached")
    return str(shown.get_attribute("data-value"))
