"""The service on the loopback interface as in production, and clients with Alice's key."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import quittance
import requests
from quittance import retries

from chains.models import Chain, Token
from demo.services.process import free_port
from merchants.models import ApiKey
from tests.processes import Process, eventually
from tests.support.clients.python.middleman import Middleman, standing_before

NOBODY_LISTENS = "http://127.0.0.1:9"
RECIPIENT = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"


@pytest.fixture(scope="session")
def service(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a gunicorn process that serves the product with the test's database."""
    url = f"http://127.0.0.1:{free_port()}"
    web = Process(
        tmp_path_factory.mktemp("service") / "web.log",
        *("gunicorn", "--config", "config/gunicorn.py"),
        PORT=url.rpartition(":")[2],
        WEB_CONCURRENCY="1",
        BASE_URL=url,
        CHECKOUT_URL=url,
        RATE_LIMIT_PUBLIC="off",
    )
    try:
        eventually(lambda: _answers(url), "the service answered")
        yield url
    finally:
        web.kill()


def _answers(url: str) -> bool:
    try:
        return requests.get(f"{url}/healthz", timeout=5).ok
    except requests.RequestException:
        return False


@pytest.fixture
def key(transactional_db: None, api_key: tuple[ApiKey, str]) -> str:
    """Alice's key, stored so that the service's process can see it."""
    return api_key[1]


@pytest.fixture
def client(service: str, key: str) -> Iterator[quittance.Client]:
    with quittance.Client(key, base_url=service) as made:
        yield made


@pytest.fixture
def middleman(service: str) -> Iterator[Middleman]:
    with standing_before(service) as standing:
        yield standing


@pytest.fixture
def through(middleman: Middleman, key: str, quick_retries: None) -> Iterator[quittance.Client]:
    """A client whose calls go through the middleman."""
    with quittance.Client(key, base_url=middleman.url, timeout=10) as made:
        yield made


@pytest.fixture
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the client's pauses to milliseconds, unless the service sets a longer pause."""
    monkeypatch.setattr(retries, "FIRST_DELAY_SECONDS", 0.01)


@pytest.fixture
def coin(transactional_db: None) -> Token:
    """A stablecoin on a chain whose nodes are not used here."""
    chain = Chain.objects.create(
        id=8453,
        name="Base",
        chain_type="evm",
        rpc_urls=[NOBODY_LISTENS],
        native_symbol="ETH",
        confirmations="1",
        block_time_ms=2000,
    )
    Token.objects.create(chain=chain, symbol="ETH", name="Ether", decimals=18, contract_address="")
    return Token.objects.create(
        chain=chain,
        symbol="USDC",
        name="USD Coin",
        decimals=6,
        contract_address="0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
    )


@pytest.fixture
def terms(coin: Token) -> Callable[..., dict[str, Any]]:
    """Return a function that makes the arguments of a valid `create`, with the given ones changed."""

    def build(**different: Any) -> dict[str, Any]:
        return {
            "amount": "12.50",
            "token_id": coin.id,
            "chain_id": coin.chain_id,
            "recipient_address": RECIPIENT,
            **different,
        }

    return build
