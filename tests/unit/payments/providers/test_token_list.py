"""If providers or Redis are down, customers still see tokens and prices."""

import logging
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from typing import Any

import pytest
from django.core.cache import cache, caches

from chains.models import Chain
from payments.providers import token_list
from payments.providers.base import ListedToken, ProviderDown

HERE, THERE = 42161, 8453
USDC = "0xaf88d065e77c8cC2239327C5EDb3A432268e5831"
DAI = "0xDA10009cBd5D07dd0CeCc66161FC93D7c9000da1"
POINTS = "0x52908400098527886E0F7030069857D2E4169EE7"


def usdc(usd: str | None = "1.0002", *, symbol: str = "USDC", chain_id: int = HERE) -> ListedToken:
    return ListedToken(chain_id, USDC, symbol, symbol, 6, Decimal(usd) if usd else None)


def dai(usd: str | None = "0.9998") -> ListedToken:
    return ListedToken(
        HERE, DAI, "DAI", "Dai", 18, Decimal(usd) if usd else None, "https://icons.example/d.svg"
    )


class Lister:
    """A provider that returns the test's list without network calls."""

    def __init__(self, key: str, tokens: Sequence[ListedToken] | Exception) -> None:
        self.key = key
        self.tokens_now = tokens
        self.asked: list[list[int]] = []
        self.may_answer = threading.Event()
        self.may_answer.set()

    def tokens(self, chain_ids: Sequence[int]) -> list[ListedToken]:
        self.asked.append(list(chain_ids))
        assert self.may_answer.wait(20)
        if isinstance(self.tokens_now, Exception):
            raise self.tokens_now
        return list(self.tokens_now)


Listing = Callable[..., list[Lister]]


@pytest.fixture
def listing(db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Listing]:
    """Return a function that sets the providers. The process' copies are as in a new process."""
    listers: list[Lister] = []

    def set_up(*them: Lister) -> list[Lister]:
        listers[:] = them
        return listers

    monkeypatch.setattr(token_list, "providers_in_order", lambda: listers)
    restart(monkeypatch)
    yield set_up
    for lister in listers:
        lister.may_answer.set()
    while shelves:
        shelves.pop()._threads.shutdown(wait=True)


shelves: list[token_list._TokenLists] = []


def restart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clear this process' copies, so that it is like another process."""
    shelves.append(token_list._TokenLists())
    monkeypatch.setattr(token_list, "_token_lists", shelves[-1])
    monkeypatch.setattr(token_list, "_cache", token_list._Cache())


def age(seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this many seconds pass for the lists."""
    now = time.time() + seconds
    monkeypatch.setattr(token_list.time, "time", lambda: now)


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_listed_tokens_have_prices(listing: Listing) -> None:
    native = ListedToken(HERE, "", "ETH", "Ether", 18, Decimal("3000"))
    listing(Lister("lifi", [usdc(), dai(), native]))
    assert token_list.listed_tokens([HERE]) == [usdc(), dai(), native]
    assert token_list.listed_token(HERE, DAI) == dai()
    assert token_list.listed_token(HERE, POINTS) is None
    assert token_list.price(HERE, "") == Decimal("3000")
    assert token_list.price(THERE, "") is None


@pytest.mark.parametrize(
    ("amount", "decimals", "value"),
    [
        (12_500_000, 6, "12.500000"),
        (0, 6, "0.000000"),
        (1, 6, "0.000001"),
        (2**256 - 1, 0, str(2**256 - 1)),
        (2**256 - 1, 36, "115792089237316195423570985008687907853269.984665640564039457584007913129639935"),
    ],
)
def test_value_is_exact(listing: Listing, amount: int, decimals: int, value: str) -> None:
    listing(Lister("lifi", [usdc("1")]))
    assert f"{token_list.usd_value(HERE, USDC, amount, decimals):f}" == value


def test_no_price_gives_no_value(listing: Listing) -> None:
    listing(Lister("lifi", [usdc(None)]))
    assert token_list.usd_value(HERE, USDC, 10**6, 6) is None
    assert token_list.usd_value(HERE, POINTS, 10**6, 6) is None


def test_the_first_provider_counts_and_the_others_fill_in(listing: Listing) -> None:
    first = Lister("lifi", [usdc(symbol="USDC"), dai(None)])
    second = Lister("relay", [usdc("7", symbol="FAKE"), dai(), usdc(chain_id=THERE)])
    listing(first, second)
    assert token_list.listed_tokens([HERE, THERE]) == [usdc(), dai(), usdc(chain_id=THERE)]


def test_one_provider_is_enough(listing: Listing) -> None:
    listing(Lister("lifi", ProviderDown("gone")), Lister("relay", [usdc()]))
    assert token_list.listed_tokens([HERE]) == [usdc()]


def test_list_is_fetched_once_for_all_active_chains(listing: Listing) -> None:
    Chain.objects.create(id=THERE, name="There", chain_type="evm", native_symbol="ETH")
    Chain.objects.create(id=10, name="Closed", chain_type="evm", native_symbol="ETH", is_active=False)
    (lister,) = listing(Lister("lifi", [usdc(), usdc(chain_id=THERE)]))
    for _ in range(5):
        assert token_list.listed_tokens([HERE]) == [usdc()]
        assert token_list.listed_tokens([THERE]) == [usdc(chain_id=THERE)]
    assert lister.asked == [[THERE, HERE]]


def test_another_process_finds_it_in_the_cache(listing: Listing, monkeypatch: pytest.MonkeyPatch) -> None:
    (lister,) = listing(Lister("lifi", [usdc(), dai()]))
    token_list.listed_tokens([HERE])
    until(lambda: cache.get("routing:lifi:refreshing") is None)
    restart(monkeypatch)
    assert token_list.listed_tokens([HERE]) == [usdc(), dai()]
    assert len(lister.asked) == 1


def test_a_newer_list_of_another_process_is_taken_over(
    listing: Listing, monkeypatch: pytest.MonkeyPatch
) -> None:
    (lister,) = listing(Lister("lifi", [usdc("1")]))
    token_list.listed_tokens([HERE])
    ours = token_list._token_lists
    restart(monkeypatch)
    cache.clear()
    lister.tokens_now = [usdc("2")]
    token_list.listed_tokens([HERE])
    monkeypatch.setattr(token_list, "_token_lists", ours)
    assert token_list.price(HERE, USDC) == 2
    assert len(lister.asked) == 2


def test_an_older_list_serves_while_a_new_one_is_fetched(
    listing: Listing, monkeypatch: pytest.MonkeyPatch
) -> None:
    (lister,) = listing(Lister("lifi", [usdc("1")]))
    token_list.listed_tokens([HERE])
    lister.tokens_now = [usdc("2")]
    lister.may_answer.clear()
    age(token_list.FRESH_SECONDS, monkeypatch)
    monkeypatch.setattr(token_list, "MAX_WAIT_SECONDS", 60)
    began = time.monotonic()
    for _ in range(20):
        assert token_list.price(HERE, USDC) == 1
    assert time.monotonic() - began < 10, "no call waits for the provider, which does not answer"
    lister.may_answer.set()
    until(lambda: token_list.price(HERE, USDC) == 2)
    assert len(lister.asked) == 2, "only the first caller that found it old fetches"


def test_lists_are_renewed_before_a_customer_finds_them_old(
    listing: Listing, monkeypatch: pytest.MonkeyPatch
) -> None:
    Chain.objects.create(id=HERE, name="Here", chain_type="evm", native_symbol="ETH")
    (lister,) = listing(Lister("lifi", [usdc("1")]))
    token_list.keep_fresh()
    until(lambda: token_list.price(HERE, USDC) == 1)
    asked = len(lister.asked)  # more than one if a price came before the first response
    token_list.keep_fresh()
    age(token_list.FRESH_SECONDS / 2, monkeypatch)
    assert len(lister.asked) == asked
    lister.tokens_now = [usdc("2")]
    token_list.keep_fresh()
    until(lambda: token_list.price(HERE, USDC) == 2)
    assert lister.asked == [[HERE]] * (asked + 1)


def test_without_active_chains_nothing_is_fetched(listing: Listing) -> None:
    (lister,) = listing(Lister("lifi", [usdc()]))
    token_list.keep_fresh()
    assert lister.asked == []


def test_an_older_list_serves_through_an_outage_of_a_day(
    listing: Listing, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (lister,) = listing(Lister("lifi", [usdc("1")]))
    token_list.listed_tokens([HERE])
    lister.tokens_now = ProviderDown("lifi rests after it failed")
    age(token_list.KEPT_SECONDS - 60, monkeypatch)
    assert token_list.price(HERE, USDC) == 1
    until(lambda: "token lists of lifi could not be fetched" in caplog.text)
    for _ in range(5):
        assert token_list.price(HERE, USDC) == 1
    assert len(lister.asked) == 2


def test_prices_older_than_a_day_are_not_shown(listing: Listing, monkeypatch: pytest.MonkeyPatch) -> None:
    (lister,) = listing(Lister("lifi", [usdc("1")]))
    token_list.listed_tokens([HERE])
    lister.tokens_now = ProviderDown("gone for good")
    age(token_list.KEPT_SECONDS, monkeypatch)
    assert token_list.price(HERE, USDC) is None


@pytest.mark.parametrize("failure", [ProviderDown("no answer"), RuntimeError("a mistake of ours")])
def test_outage_at_start_gives_an_empty_list_and_a_note(
    listing: Listing, caplog: pytest.LogCaptureFixture, failure: Exception
) -> None:
    (lister,) = listing(Lister("lifi", failure))
    assert token_list.listed_tokens([HERE]) == []
    assert token_list.usd_value(HERE, USDC, 10**6, 6) is None
    assert "the token lists of lifi could not be fetched" in caplog.text
    assert len(lister.asked) == 1


def test_slow_provider_delays_one_call_by_seconds_at_most(
    listing: Listing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(token_list, "MAX_WAIT_SECONDS", 0.3)
    (lister,) = listing(Lister("lifi", [usdc()]))
    lister.may_answer.clear()
    began = time.monotonic()
    for _ in range(40):
        assert token_list.listed_tokens([HERE]) == []
    assert 0.2 < time.monotonic() - began < 2
    assert len(lister.asked) == 1
    lister.may_answer.set()
    until(lambda: token_list.listed_tokens([HERE]) == [usdc()])


def test_one_of_several_processes_fetches(listing: Listing, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_list, "MAX_WAIT_SECONDS", 0.1)
    (lister,) = listing(Lister("lifi", [usdc()]))
    lister.may_answer.clear()
    token_list.listed_tokens([HERE])
    for _ in range(3):
        restart(monkeypatch)
        assert token_list.listed_tokens([HERE]) == []
    assert len(lister.asked) == 1


def test_without_redis_a_process_serves_what_it_knows(
    listing: Listing,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    dead_cache: Callable[[], None],
) -> None:
    (lister,) = listing(Lister("lifi", [usdc("1")]))
    token_list.listed_tokens([HERE])
    dead_cache()
    for _ in range(10):
        assert token_list.price(HERE, USDC) == 1
    assert caplog.text.count("token lists are not shared") == 1
    assert len(lister.asked) == 1
    age(token_list.FRESH_SECONDS, monkeypatch)
    lister.tokens_now = [usdc("2")]
    until(lambda: token_list.price(HERE, USDC) == 2)
    assert len(lister.asked) == 2


@pytest.fixture
def dead_cache(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Return a function that makes Redis unreachable."""

    def kill() -> None:
        settings: dict[str, Any] = {**caches.settings["default"], "LOCATION": "redis://127.0.0.1:9/0"}
        dead = type(caches["default"])(settings["LOCATION"], {"OPTIONS": settings["OPTIONS"]})
        monkeypatch.setattr(token_list, "cache", dead)

    return kill


def test_token_list_keeps_at_most_the_maximum_per_chain(
    listing: Listing, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(token_list, "MAX_TOKENS", 3)
    caplog.set_level(logging.INFO)
    many = [ListedToken(HERE, f"0x{n:040x}", f"T{n}", "Token", 18, None) for n in range(10)]
    listing(Lister("lifi", [*many, usdc(chain_id=THERE)]))
    assert token_list.listed_tokens([HERE, THERE]) == [*many[:3], usdc(chain_id=THERE)]


@pytest.mark.parametrize(
    "planted",
    [
        1.5,
        b"no zlib",
        zlib.compress(b"no JSON"),
        zlib.compress(b"[1,2,3]"),
        zlib.compress(b'["now",[]]'),
        zlib.compress(b'[1.5,[["0x","A","A",6,"much",null]]]'),
        zlib.compress(b'[1.5,[["0x","A","A","6",null,null]]]'),
        zlib.compress(b"[1.5,[]]")[:-6],
        zlib.compress(b" " * token_list._MAX_UNPACKED_BYTES + b"[1.5,[]]"),
    ],
)
def test_unreadable_list_in_the_cache_is_fetched_again(
    listing: Listing, monkeypatch: pytest.MonkeyPatch, planted: float | bytes
) -> None:
    (lister,) = listing(Lister("lifi", [usdc()]))
    token_list.listed_tokens([HERE])
    until(lambda: cache.get("routing:lifi:refreshing") is None)
    cache.set(token_list._key(("lifi", HERE), "tokens"), planted)
    restart(monkeypatch)
    assert token_list.listed_tokens([HERE]) == [usdc()]
    assert len(lister.asked) == 2
