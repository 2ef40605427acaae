"""The checkout on a live server, in a browser with scripted wallets."""

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page
from pytest_django.live_server_helper import LiveServer
from solders.signature import Signature

from chains.models import Chain, Token
from demo.solana.mint import MERCHANT
from tests.browsing import DESKTOP, PHONE
from tests.chain import LocalChain
from tests.support.solana.ledger import LocalLedger
from tests.support.swaps.world import SwapWorld
from tests.support.wallets.stub import SolanaStub, StubWallet

# Playwright runs an event loop in this thread. Django then forbids queries unless this variable allows them.
os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "true")

TOUCHED: dict[str, Any] = {"viewport": PHONE, "has_touch": True, "is_mobile": True}

PUBLIC_NODE = "https://rpc.example"
EXPLORER = "https://explorer.example"

Create = Callable[..., dict[str, Any]]
AddWallet = Callable[..., StubWallet]


@pytest.fixture
def service(live_server: LiveServer, settings: Any) -> str:
    origin = f"http://localhost:{live_server.thread.port}"
    settings.CHECKOUT_URL = settings.BASE_URL = origin
    settings.ROUTING_PROVIDERS = []
    return origin


@pytest.fixture
def create(service: str, checkout: Create) -> Create:  # `service` sets the base URL
    """Return a function that creates payment requests and returns the response."""
    return checkout


@pytest.fixture
def troubles() -> list[str]:
    """The pages' errors: failed scripts and blocked content."""
    return []


@pytest.fixture
def page(
    request: pytest.FixtureRequest, browser: Browser, troubles: list[str], local_chain: LocalChain
) -> Iterator[Page]:
    """A new page, as wide as a desktop unless a test names a device. Its wallets send through the local node."""
    context = browser.new_context(**{"viewport": DESKTOP, **getattr(request, "param", {})})
    context.set_default_timeout(30_000)
    context.expose_function("sendByNode", lambda sent: local_chain.rpc("eth_sendTransaction", sent))
    context.expose_function("receiptOf", lambda sent: local_chain.rpc("eth_getTransactionReceipt", sent))
    context.expose_function("askNode", lambda method, params: local_chain.rpc(method, *params))
    opened = context.new_page()
    opened.on("pageerror", lambda error: troubles.append(f"script: {error}"))
    opened.on("console", lambda message: troubles.append(message.text) if message.type == "error" else None)
    yield opened
    context.close()


@pytest.fixture
def add_wallet(page: Page, local_chain: LocalChain) -> AddWallet:
    return lambda **plan: StubWallet(page, local_chain, **plan)


@pytest.fixture
def panel(page: Page) -> Locator:
    return page.locator("#panel")


@pytest.fixture
def public_node(chain: Chain) -> None:
    """Give the local chain a public node, with which wallets can add it."""
    Chain.objects.filter(pk=chain.pk).update(wallet_rpc_url=PUBLIC_NODE, explorer_url=EXPLORER)


AddSolanaWallet = Callable[..., SolanaStub]


@pytest.fixture
def add_solana_wallet(page: Page, local_ledger: LocalLedger) -> AddSolanaWallet:
    """Return a function that adds Solana wallets to the page. They sign with the key of the ledger's payer."""
    key = local_ledger.key

    def send(unsigned: str) -> list[int]:
        return list(bytes(Signature.from_string(local_ledger.sign_and_send(unsigned))))

    page.context.expose_function("sendByLedger", send)
    page.context.expose_function(
        "signByLedger", lambda message: list(bytes(key.sign_message(bytes(message))))
    )
    return lambda **plan: SolanaStub(page, local_ledger.payer, **plan)


@pytest.fixture
def create_on_solana(create: Create, solana_usdc: Token) -> Create:
    """Return a function that creates requests for the test USDC on the local ledger."""
    on_solana = {
        "token_id": solana_usdc.pk,
        "chain_id": solana_usdc.chain_id,
        "recipient_address": str(MERCHANT.pubkey()),
    }
    return lambda **different: create(**{**on_solana, **different})


@pytest.fixture
def routed(service: str, swap_world: SwapWorld) -> SwapWorld:  # `service` switches swaps off
    """The service with all local chains and swaps between them."""
    return swap_world
