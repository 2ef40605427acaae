"""Fixtures for all tests: two merchants with keys, a local chain with tokens, and a client for the API."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from django.core.cache import cache
from django.db import connections
from django.test import Client
from hypothesis import HealthCheck, settings

from chains.models import Chain, Token
from demo.services import anvil, surfnet
from merchants.models import ApiKey, Merchant, Permission
from merchants.services import issue_key
from payments.providers import registry
from tests import migrated
from tests.browsing import browser, browser_without_scripts, playwright
from tests.chain import LocalChain
from tests.emptying import empty_tables_quickly
from tests.plugin import has_own_database
from tests.support.nodes.kinds import KINDS, LEDGER_KINDS, Nodes, chain_with
from tests.support.solana.ledger import LocalLedger

if TYPE_CHECKING:
    from demo.aggregator.server import Aggregator
    from tests.support.swaps.world import SwapWorld

# A slow example is not a failure: the machine may be busy.
settings.register_profile("tests", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tests")

# A test's file or folder can override a fixture with one of these names.
pytest_plugins = [
    f"tests.support.{name}"
    for name in (
        "api.fixtures",
        "chains.fixtures",
        "checkout.fixtures",
        "embedding.fixtures",
        "nodes.fixtures",
        "payments.fixtures",
        "portal.fixtures",
        "portal.payment_rows",
        "portal.refund_rows",
        "rates.fixtures",
        "sandbox.fixtures",
        "solana.fixtures",
        "swaps.fixtures",
        "threats.evm_fixtures",
        "webhooks.fixtures",
    )
]
# Fixtures that all tests can use.
__all__ = ["browser", "browser_without_scripts", "empty_tables_quickly", "playwright"]


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings_parallel_suffix: None) -> None:
    """Give tests longer time limits than requests: for slow chains, for locks with 200 waiters, for connections.

    If the tests started the database server, they use a copy of a migrated database.
    """
    database = connections["default"].settings_dict
    if has_own_database():
        database["TEST"]["TEMPLATE"] = migrated.TEMPLATE
    options = database["OPTIONS"]
    assert "idle_in_transaction_session_timeout=30s" in options["options"]
    assert "lock_timeout=10s" in options["options"]
    options["options"] = options["options"].replace("lock_timeout=10s", "lock_timeout=45s")
    options["options"] = options["options"].replace("session_timeout=30s", "session_timeout=300s")
    options["pool"] |= {"timeout": 120}


@pytest.fixture(scope="session")
def local_chain() -> Iterator[LocalChain]:
    """A local EVM chain that mines each transaction immediately, with the test tokens."""
    running = anvil.start()
    try:
        yield LocalChain.prepare(running.url, running.chain_id)
    finally:
        running.stop()


@pytest.fixture(scope="session")
def other_local_chain() -> Iterator[LocalChain]:
    """A second local EVM chain, with the same tokens at the same addresses."""
    running = anvil.start(chain_id=31338)
    try:
        yield LocalChain.prepare(running.url, running.chain_id)
    finally:
        running.stop()


_LEDGER = pytest.StashKey[LocalLedger]()


@pytest.fixture(scope="session")
def local_ledger(pytestconfig: pytest.Config) -> Iterator[LocalLedger]:
    """A local Solana chain with short slots and the test USDC. Tests skip if Surfnet has no build for the machine."""
    if not surfnet.is_offered():
        pytest.skip("Surfnet has no build for this machine.")
    running = surfnet.start(slot_ms=25)
    try:
        pytestconfig.stash[_LEDGER] = ledger = LocalLedger.prepare(running.url)
        yield ledger
    finally:
        running.stop()


@pytest.fixture(autouse=True)
def _ledger_in_time(pytestconfig: pytest.Config) -> None:
    """Correct the Solana chain's clock if earlier tests left it behind."""
    ledger = pytestconfig.stash.get(_LEDGER, None)
    if ledger is not None:
        ledger.catch_up()


@pytest.fixture(scope="session")
def anvil_b(other_local_chain: LocalChain) -> LocalChain:
    """The second EVM chain, under the name that the tests of swaps use."""
    return other_local_chain


@pytest.fixture(scope="session")
def running_aggregator(
    local_chain: LocalChain, anvil_b: LocalChain, request: pytest.FixtureRequest
) -> "Iterator[Aggregator]":
    """The local aggregator for both EVM chains, and for Solana if it is available. Tests use `aggregator`."""
    from demo.aggregator import places, server  # imported here because most tests need no Flask

    has_solana = surfnet.is_offered()
    ledger = request.getfixturevalue("local_ledger") if has_solana else None
    world = places.local_places(local_chain.url, anvil_b.url, ledger and ledger.url)
    server.prepare(world)
    running = server.start(world)
    try:
        yield running
    finally:
        running.stop()


@pytest.fixture
def aggregator(running_aggregator: "Aggregator") -> "Iterator[Aggregator]":
    """The local aggregator, without faults and without recorded calls."""
    running_aggregator.reset()
    yield running_aggregator
    running_aggregator.reset()


@pytest.fixture
def swap_world(
    aggregator: "Aggregator",
    local_chain: LocalChain,
    anvil_b: LocalChain,
    chain: Chain,
    usdc: Token,  # in the catalogue
    dai: Token,
    ether: Token,
    settings: Any,
    request: pytest.FixtureRequest,
) -> "SwapWorld":
    """A catalogue with all local chains and their pinned routers. LI.FI's URL is the local aggregator's."""
    from tests.support.swaps import world

    settings.LIFI_API_URL = aggregator.url
    settings.ROUTING_PROVIDERS = ["lifi"]
    chain.routers = world.EVM_ROUTERS
    chain.save(update_fields=["routers"])
    Token.objects.create(
        chain=chain, symbol="USDT", name="Tether USD", decimals=6, contract_address=world.USDT
    )
    ledger, on_solana = None, None
    if surfnet.is_offered():
        ledger, on_solana = (request.getfixturevalue(name) for name in ("local_ledger", "solana"))
        for name in ("solana_usdc", "sol"):
            request.getfixturevalue(name)
        on_solana.routers = world.SOLANA_ROUTERS
        on_solana.save(update_fields=["routers"])
    return world.SwapWorld(
        aggregator=aggregator,
        first=local_chain,
        second=anvil_b,
        solana=ledger,
        first_row=chain,
        second_row=world.make_second_row(anvil_b),
        solana_row=on_solana,
    )


@pytest.fixture
def merchant(db: None) -> Merchant:
    """Alice's shop."""
    return Merchant.objects.create(name="Alice's Bakery")


@pytest.fixture
def other_merchant(db: None) -> Merchant:
    """Mallory's shop, which must not see the data of Alice's."""
    return Merchant.objects.create(name="Mallory's")


@pytest.fixture
def api_key(merchant: Merchant) -> tuple[ApiKey, str]:
    """Alice's API key with all permissions: its row and its text."""
    return issue_key(merchant=merchant, permissions=Permission.values, name="test")


@pytest.fixture
def chain(db: None, local_chain: LocalChain) -> Chain:
    """The local chain in the catalogue. A payment completes with its first confirmation."""
    return Chain.objects.create(
        id=local_chain.chain_id,
        name="Local Chain",
        chain_type="evm",
        rpc_urls=[local_chain.url],
        native_symbol="ETH",
        confirmations="1",
        block_time_ms=1000,
    )


@pytest.fixture(params=KINDS, ids=lambda kind: kind.name)
def each_kind(request: pytest.FixtureRequest, chain: Chain, local_chain: LocalChain) -> Iterator[Nodes]:
    """The chain's nodes in the catalogue. The test runs once for each setup of nodes that deployments use."""
    with chain_with(request.param, chain, local_chain.url) as nodes:
        yield nodes


@pytest.fixture(params=LEDGER_KINDS, ids=lambda kind: kind.name)
def each_ledger_kind(
    request: pytest.FixtureRequest, solana: Chain, local_ledger: LocalLedger
) -> Iterator[Nodes]:
    """The Solana chain's nodes in the catalogue. The test runs once for each setup."""
    with chain_with(request.param, solana, local_ledger.url) as nodes:
        yield nodes


@pytest.fixture
def usdc(chain: Chain, local_chain: LocalChain) -> Token:
    return Token.objects.create(
        chain=chain,
        symbol="USDC",
        name="USD Coin",
        decimals=6,
        contract_address=local_chain.usdc,
        tags=["stablecoin"],
    )


@pytest.fixture
def dai(chain: Chain, local_chain: LocalChain) -> Token:
    return Token.objects.create(
        chain=chain, symbol="DAI", name="Dai Stablecoin", decimals=18, contract_address=local_chain.dai
    )


@pytest.fixture
def ether(chain: Chain) -> Token:
    """The local chain's native coin."""
    return Token.objects.create(chain=chain, symbol="ETH", name="Ether", decimals=18, contract_address="")


@pytest.fixture
def solana(db: None, local_ledger: LocalLedger) -> Chain:
    """The local Solana chain in the catalogue. A payment completes at finality."""
    return Chain.objects.create(
        id=surfnet.CHAIN_ID,
        name="Local Solana",
        chain_type="solana",
        network=surfnet.NETWORK,
        rpc_urls=[local_ledger.url],
        native_symbol="SOL",
        confirmations="finalized",
        block_time_ms=400,
    )


@pytest.fixture
def solana_usdc(solana: Chain, local_ledger: LocalLedger) -> Token:
    return Token.objects.create(
        chain=solana,
        symbol="USDC",
        name="USD Coin",
        decimals=6,
        contract_address=local_ledger.usdc,
        tags=["stablecoin"],
    )


@pytest.fixture
def sol(solana: Chain) -> Token:
    return Token.objects.create(chain=solana, symbol="SOL", name="SOL", decimals=9, contract_address="")


class Api:
    """A client for the API that sends and receives JSON."""

    def __init__(self, key: str | None = None) -> None:
        self._client = Client(raise_request_exception=False)
        self._headers = {"X-API-Key": key} if key else {}

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """Return Django's response; `.json()` is its body."""
        options: dict[str, Any] = {"headers": {**self._headers, **headers}}
        if body is not None:
            options |= {"data": body, "content_type": "application/json"}
        return self._client.generic(method, path, **_encoded(options))

    def get(self, path: str, **headers: str) -> Any:
        """GET `path`."""
        return self.call("GET", path, **headers)

    def post(self, path: str, body: Any = None, **headers: str) -> Any:
        return self.call("POST", path, {} if body is None else body, **headers)

    def put(self, path: str, body: Any, **headers: str) -> Any:
        return self.call("PUT", path, body, **headers)


def _encoded(options: dict[str, Any]) -> dict[str, Any]:
    import json

    if "data" in options and not isinstance(options["data"], bytes):
        options["data"] = json.dumps(options["data"])
    return options


@pytest.fixture
def api(api_key: tuple[ApiKey, str]) -> Api:
    return Api(api_key[1])


@pytest.fixture
def public(db: None) -> Api:
    """The API without a key, as the checkout calls it."""
    return Api()


@pytest.fixture
def order(usdc: Token, local_chain: LocalChain) -> Callable[..., dict[str, Any]]:
    """Return a function that makes the body of a valid create call, with the given fields changed."""

    def build(**different: Any) -> dict[str, Any]:
        body = {
            "amount": "10.50",
            "token_id": usdc.id,
            "chain_id": usdc.chain_id,
            "recipient_address": local_chain.recipient,
        }
        return {**body, **different}

    return build


@pytest.fixture(autouse=True)
def _empty_cache() -> None:
    """Clear the rate limits and the providers' health between tests."""
    cache.clear()
    registry.forget()
