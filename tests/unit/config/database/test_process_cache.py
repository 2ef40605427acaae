"""Copies in memory are kept only while every change is noticed.

Each process drops them when a change is committed.
"""

from collections.abc import Iterator

import pytest
from django.db import connection, transaction

from chains.lookup import active_chains, find_chain, find_token
from chains.models import Chain, Token
from config.database import process_cache
from config.database.process_cache import ProcessCache
from merchants.lookup import merchant_by_id
from merchants.models import Merchant
from merchants.recipients import allow_recipients, recipient_problem
from tests.processes import eventually

pytestmark = pytest.mark.django_db(transaction=True)

ADDRESS = "0x8ba1f109551bD432803012645Ac136ddd64DBA72"


class Counted:
    """A cache of texts that counts its reads."""

    def __init__(self) -> None:
        self.reads = 0
        self.cache = ProcessCache(self._load)

    def _load(self, key: str) -> str | None:
        self.reads += 1
        return key.upper() if key else None


@pytest.fixture
def keeping() -> Iterator[None]:
    process_cache.start()
    try:
        eventually(
            lambda: process_cache._listener is not None and process_cache._listener.is_current, "it listens"
        )
        yield
    finally:
        process_cache.stop()


@pytest.fixture
def token(db: None) -> Token:
    chain = Chain.objects.create(id=4_244, name="Dead", chain_type="evm", rpc_urls=[], native_symbol="ETH")
    return Token.objects.create(chain=chain, symbol="ETH", name="Ether", decimals=18, contract_address="")


def test_a_process_that_does_not_listen_reads_each_time() -> None:
    counted = Counted()
    assert [counted.cache.get("a"), counted.cache.get("a")] == ["A", "A"]
    assert counted.reads == 2


def test_a_process_that_listens_reads_once(keeping: None) -> None:
    counted = Counted()
    assert [counted.cache.get("a"), counted.cache.get("a")] == ["A", "A"]
    assert counted.reads == 1


def test_what_there_is_not_is_not_kept(keeping: None) -> None:
    counted = Counted()
    assert [counted.cache.get(""), counted.cache.get("")] == [None, None]
    assert counted.reads == 2


def test_what_a_transaction_reads_is_not_kept(keeping: None) -> None:
    counted = Counted()
    with transaction.atomic():
        counted.cache.get("a")
    counted.cache.get("a")
    assert counted.reads == 2


def test_what_was_read_before_a_change_is_not_kept_after_it(keeping: None) -> None:
    cache: ProcessCache[str, str] = ProcessCache(lambda key: process_cache.forget() or key)  # type: ignore[func-returns-value]
    cache.get("a")
    assert cache._values == {}


def test_at_most_so_many_are_kept(keeping: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_cache, "MAX_KEPT", 2)
    counted = Counted()
    for key in "abcabc":
        counted.cache.get(key)
    assert counted.reads == 4


def test_lost_listener_connection_makes_each_read_uncached(keeping: None) -> None:
    counted = Counted()
    counted.cache.get("a")
    listener = process_cache._listener
    assert listener is not None
    listener.stop()
    counted.cache.get("a")
    assert counted.reads == 2


def test_a_changed_chain_or_token_is_seen(keeping: None, token: Token) -> None:
    assert find_token(token.pk) is not None
    Token.objects.filter(pk=token.pk).update(is_active=False)
    eventually(lambda: find_token(token.pk) is None, "the token is inactive here, too")
    assert [chain.pk for chain in active_chains()] == [token.chain_id]
    Chain.objects.filter(pk=token.chain_id).update(is_active=False)
    eventually(lambda: find_chain(token.chain_id) is None and not active_chains(), "so is its chain")


def test_a_new_chain_is_in_the_list(keeping: None, token: Token) -> None:
    assert len(active_chains()) == 1
    Chain.objects.create(id=4_245, name="New", chain_type="evm", rpc_urls=[], native_symbol="ETH")
    eventually(lambda: len(active_chains()) == 2, "the new chain is listed")


def test_a_change_without_django_is_seen(keeping: None, merchant: Merchant) -> None:
    assert merchant_by_id(merchant.pk).display_name == ""
    with connection.cursor() as cursor:
        cursor.execute("UPDATE merchants_merchant SET display_name = 'By hand'")
    eventually(lambda: merchant_by_id(merchant.pk).display_name == "By hand", "what psql wrote is seen")


def test_a_list_of_recipients_closes_at_once(keeping: None, merchant: Merchant) -> None:
    assert recipient_problem(merchant, "evm", ADDRESS) is None
    allow_recipients(merchant, [("evm", "0x" + "1" * 40)], request=None)
    eventually(lambda: recipient_problem(merchant, "evm", ADDRESS) is not None, "the list is known here")
