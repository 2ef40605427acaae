"""Each rate source alone: its rate from a valid response, and its error for each fault."""

import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from chains.client import ChainError, FeedAnswer
from chains.families.evm.feeds import feed_answers
from chains.models import Chain
from payments.prices.sources import base, feeds
from payments.prices.sources.coinbase import Coinbase
from payments.prices.sources.feeds import Feeds, observed
from payments.prices.sources.kraken import Kraken, last_trade
from payments.providers.base import ProviderDown
from tests.support.rates.exchanges import Exchanges, kraken_trades, running_exchanges

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
FEED = {"pair": "ETH/USD", "address": "0x" + "1" * 40, "heartbeat": 3600}


@pytest.fixture
def exchanges() -> Iterator[Exchanges]:
    with running_exchanges() as running:
        yield running


def ticker_of_coinbase(**different: Any) -> bytes:
    time = datetime.now(UTC).isoformat().replace("+00:00", "Z")
    ticker = {"price": "1.0002", "time": time, **different}
    return json.dumps({name: value for name, value in ticker.items() if value is not None}).encode()


def trade_of_kraken(price: Any = "1.0002", time: Any = ..., **different: Any) -> bytes:
    at = datetime.now(UTC).timestamp() if time is ... else time
    return json.dumps(kraken_trades("USDCUSD", (price, at), **different)).encode()


def ago(seconds: float) -> str:
    return (datetime.now(UTC) - timedelta(seconds=seconds)).isoformat()


# Responses over a working connection that contain no rate.
ANY: dict[str, tuple[int, bytes]] = {
    "down": (503, b"{}"),
    "an error": (500, b""),
    "too many requests": (429, b"{}"),
    "a redirect": (302, b""),
    "no JSON": (200, b"<html>"),
    "nothing": (200, b""),
    "null": (200, b"null"),
    "a list": (200, b"[]"),
    "a text": (200, b'"1.0002"'),
    "a key twice": (200, b'{"price": "1", "price": "2"}'),
    "NaN": (200, b'{"price": NaN}'),
    "not UTF-8": (200, b'{"price": "\xff"}'),
    "nested without end": (200, b"[" * 10_000),
    "larger than 64 KiB": (200, b'"' + b"1" * 70_000 + b'"'),
    "forbidden": (403, b"{}"),
}
OF_COINBASE: dict[str, bytes] = {
    "no price": ticker_of_coinbase(price=None),
    "zero": ticker_of_coinbase(price="0"),
    "no time": ticker_of_coinbase(time=None),
    "an unreadable time": ticker_of_coinbase(time="yesterday"),
    "a time in seconds": ticker_of_coinbase(time=1_790_000_000),
    "a time out of range": ticker_of_coinbase(time="0001-01-01T00:00:00+23:59"),
}
OF_KRAKEN: dict[str, bytes] = {
    "an error of the exchange in a 200": b'{"error":["EGeneral:Internal error"]}',
    "an error that is no list": b'{"error":"EQuery:Unknown asset pair"}',
    "an error that is no text": b'{"error":[{"code":"EQuery:Unknown asset pair"}]}',
    "no error": b'{"result":{"USDCUSD":[["1","1",1790000000]],"last":"1"}}',
    "no result": b'{"error":[]}',
    "another number of pairs": b'{"error":[],"result":{"A":[["1","1",1790000000]],"B":[["1","1",1790000000]]}}',
    "no pair": b'{"error":[],"result":{"last":"1"}}',
    "no list of trades": b'{"error":[],"result":{"USDCUSD":{"c":["1","1"]},"last":"1"}}',
    "a trade that is no list": b'{"error":[],"result":{"USDCUSD":["1.0002"],"last":"1"}}',
    "a trade without a time": b'{"error":[],"result":{"USDCUSD":[["1.0002","1"]],"last":"1"}}',
    "zero": trade_of_kraken("0"),
    "a time that is a text": trade_of_kraken(time="1790000000"),
}
FAULTS = [
    *((Coinbase, name, answer) for name, answer in ANY.items()),
    (Kraken, "down", ANY["down"]),
    *((Coinbase, name, (200, body)) for name, body in OF_COINBASE.items()),
    *((Kraken, name, (200, body)) for name, body in OF_KRAKEN.items()),
]


@pytest.mark.parametrize(
    ("source", "fault", "answer"), FAULTS, ids=lambda each: getattr(each, "__name__", None)
)
def test_a_faulty_answer_is_no_rate(
    exchanges: Exchanges, source: Any, fault: str, answer: tuple[int, bytes]
) -> None:
    exchanges.broken = {"coinbase": answer, "kraken": answer}
    with pytest.raises(ProviderDown):
        source(exchanges.url).observe(["USDC"])


@pytest.mark.parametrize("source", [Coinbase, Kraken])
def test_an_exchange_that_hangs_is_given_up(
    exchanges: Exchanges, source: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "ANSWER_SECONDS", 0.2)
    exchanges.hanging = {"coinbase", "kraken"}
    with pytest.raises(ProviderDown):
        source(exchanges.url).observe(["USDC"])


@pytest.mark.parametrize("source", [Coinbase, Kraken])
def test_an_exchange_that_is_not_there_is_down(source: Any) -> None:
    with pytest.raises(ProviderDown):
        source("http://127.0.0.1:1").observe(["USDC"])


@pytest.mark.parametrize(
    ("age", "is_seen"), [(0, True), (110, True), (130, False), (-20, True), (-60, False)]
)
@pytest.mark.parametrize("source", [Coinbase, Kraken])
def test_a_trade_counts_for_as_long_as_the_setting_says(
    exchanges: Exchanges, settings: Any, source: Any, age: float, is_seen: bool
) -> None:
    settings.RATE_MAX_AGE = 120
    exchanges.time = ago(age)
    assert (source(exchanges.url).observe(["USDC"]) != {}) is is_seen


def test_observation_of_kraken_has_the_time_of_the_trade(exchanges: Exchanges) -> None:
    exchanges.time = ago(60)
    (seen,) = Kraken(exchanges.url).observe(["USDC"])["USDC"]
    assert abs(seen.observed_at - datetime.fromisoformat(exchanges.time)) < timedelta(milliseconds=1)


def test_newest_of_several_trades_counts() -> None:
    answer = kraken_trades("USDCUSD", ("1.1", 1_790_000_000), ("1.2", 1_790_000_002), ("1.3", 1_790_000_001))
    assert last_trade(answer) == (Decimal("1.2"), datetime.fromtimestamp(1_790_000_002, UTC))


def test_pair_without_any_trade_has_no_rate(exchanges: Exchanges) -> None:
    exchanges.broken = {"kraken": (200, b'{"error":[],"result":{"USDCUSD":[],"last":"0"}}')}
    assert Kraken(exchanges.url).observe(["USDC"]) == {}


UNKNOWN_PAIRS = [
    "EQuery:Unknown asset pair",
    "EFuture:Words that nobody has seen yet",
]


@pytest.mark.parametrize("words", UNKNOWN_PAIRS)
@pytest.mark.parametrize("bases", [["KPW", "USDC"], ["USDC", "KPW"]])
def test_unknown_pair_of_kraken_loses_no_other_pair(
    exchanges: Exchanges, words: str, bases: list[str]
) -> None:
    exchanges.unknown_pair = words
    assert list(Kraken(exchanges.url).observe(bases)) == ["USDC"]


@pytest.mark.parametrize("words", UNKNOWN_PAIRS)
def test_inverse_is_asked_for_whatever_the_words_are(exchanges: Exchanges, words: str) -> None:
    exchanges.unknown_pair = words
    exchanges.kraken["USDJPY"] = "150"
    (seen,) = Kraken(exchanges.url).observe(["JPY"])["JPY"]
    assert seen.value == Fraction(1, 150)


def test_warning_beside_a_result_is_no_error(exchanges: Exchanges) -> None:
    exchanges.broken = {"kraken": (200, trade_of_kraken(error=["WGeneral:Deprecated"]))}
    assert list(Kraken(exchanges.url).observe(["USDC"])) == ["USDC"]


@pytest.mark.parametrize(
    ("status", "body"), [(404, b"{}"), (422, b""), (403, b"{}"), (200, b'{"price": "0"}')]
)
def test_faulty_pair_of_coinbase_loses_no_other_pair(
    exchanges: Exchanges, monkeypatch: pytest.MonkeyPatch, status: int, body: bytes
) -> None:
    answer = exchanges.answer
    monkeypatch.setattr(exchanges, "answer", lambda path: (status, body) if "KPW" in path else answer(path))
    for bases in (["KPW", "USDC"], ["USDC", "KPW"]):
        assert list(Coinbase(exchanges.url).observe(bases)) == ["USDC"]


@pytest.mark.parametrize("status", [200, 401, 403])
def test_euro_is_bridged_whatever_words_reject_its_pair(
    exchanges: Exchanges, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    rejection, answer = json.dumps({"message": "No such symbol."}).encode(), exchanges.answer
    exchanges.coinbase |= {"BTC-EUR": "90000", "BTC-USD": "100000"}
    monkeypatch.setattr(
        exchanges, "answer", lambda path: (status, rejection) if "/EUR-USD/" in path else answer(path)
    )
    (seen,) = Coinbase(exchanges.url).observe(["EUR"])["EUR"]
    assert seen.value == Fraction(10, 9)


def test_slow_exchange_is_not_asked_for_the_next_pair(
    exchanges: Exchanges, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "ANSWER_SECONDS", 0.2)
    exchanges.hanging = {"kraken"}
    with pytest.raises(ProviderDown):
        Kraken(exchanges.url).observe(["USDC", "EUR", "GBP"])
    assert len(exchanges.asked) == 1


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("1.10", Fraction(11, 10)),
        (Decimal("1.10"), Fraction(11, 10)),
        (150, Fraction(150)),
        ("1e-5", Fraction(1, 100_000)),
        *[
            (wrong, None)
            for wrong in (
                "0", 0, "-1", -1, "NaN", "Infinity", Decimal("NaN"), Decimal("Infinity"), "1e31", "1e-31",
                Decimal("1e999999999"), Decimal("1e-999999999"), Decimal("1." + "1" * 80), "1" * 41, "1_0", " 1", "",
                "1,5", "\u0661", True, None, 1.5, [1], {"price": 1},
            )
        ],
    ],
)  # fmt: skip
def test_only_positive_numbers_of_a_sane_size_are_read(value: Any, expected: Fraction | None) -> None:
    assert base.number(value) == expected


@pytest.mark.parametrize(
    ("value", "is_time"),
    [
        (1_790_000_000, True),
        (Decimal("1790000000.8277369"), True),
        *[
            (wrong, False)
            for wrong in (0, -1, 10**11, 10**300, "1790000000", 1.79e9, True, None, Decimal("NaN"))
        ],
    ],
)
def test_only_seconds_since_1970_are_read_as_unix_time(value: Any, is_time: bool) -> None:
    assert (base.unix_time_of(value) is not None) is is_time


def test_numbers_of_json_are_read_exactly(exchanges: Exchanges) -> None:
    body = ticker_of_coinbase(price="PRICE").replace(b'"PRICE"', b"1.00020000000000000000000000001")
    exchanges.broken = {"coinbase": (200, body)}
    (seen,) = Coinbase(exchanges.url).observe(["USDC"])["USDC"]
    assert seen.value == Decimal("1.00020000000000000000000000001")


@pytest.mark.parametrize("source", [Coinbase, Kraken])
def test_unlisted_currency_is_queried_once_in_five_minutes(
    exchanges: Exchanges, source: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr(base.time, "monotonic", lambda: now)
    exchanges.coinbase["BTC-USD"] = "100000"
    asking = source(exchanges.url)
    for _ in range(3):
        assert asking.observe(["KPW"]) == {}
    unlisted = [path for path in exchanges.asked if "KPW" in path]
    assert len(unlisted) == len(set(unlisted)) == 2
    now += 301
    assert asking.observe(["KPW"]) == {}
    assert len([path for path in exchanges.asked if "KPW" in path]) == 4


AT = int(NOW.timestamp())


@pytest.mark.parametrize(
    "answer",
    [
        FeedAnswer(0, 8, AT),
        FeedAnswer(-1, 8, AT),
        FeedAnswer(10**8, 8, 0),
        FeedAnswer(10**8, 37, AT),
        FeedAnswer(10**8, 2**256 - 1, AT),
        FeedAnswer(10**8, 8, AT - 3961),
        FeedAnswer(10**8, 8, AT + 31),
        FeedAnswer(10**8, 8, 2**256 - 1),
    ],
)
def test_a_faulty_round_of_a_feed_is_no_rate(answer: FeedAnswer) -> None:
    assert observed("feeds:1", FEED, answer, NOW) is None


def test_a_round_is_fresh_for_110_percent_of_the_heartbeat() -> None:
    seen = observed("feeds:1", FEED, FeedAnswer(250_012_345_678, 8, AT - 3960), NOW)
    assert seen is not None
    assert (seen.source, seen.value) == ("feeds:1", Decimal("2500.12345678"))


def words(*numbers: int) -> str:
    return "0x" + "".join(f"{number % 2**256:064x}" for number in numbers)


@pytest.mark.parametrize(
    ("latest", "decimals"),
    [
        ("0x", words(8)),
        (words(1, 10**8, AT, AT), words(8)),
        (words(1, 10**8, AT, AT, 1), "0x"),
        (words(2, 10**8, AT, AT, 1), words(8)),
        (ChainError("reverted"), words(8)),
        (words(1, 10**8, AT, AT, 1), ChainError("reverted")),
    ],
)
def test_contract_without_feed_does_not_hide_other_feeds(latest: Any, decimals: Any) -> None:
    good = [words(1, -5, AT, AT, 1), words(8)]
    assert feed_answers([latest, decimals, *good]) == [FeedAnswer(0, 0, 0), FeedAnswer(-5, 8, AT)]


class FakeNode:
    """The feeds of one chain: each returns a price, fails, or doesn't respond until the test ends."""

    def __init__(self, says: Any) -> None:
        self.says = says

    def price_feeds(self, addresses: list[str]) -> list[FeedAnswer]:
        if isinstance(self.says, threading.Event):
            self.says.wait(60)
            raise ChainError("too late")
        if isinstance(self.says, Exception):
            raise self.says
        return [FeedAnswer(self.says, 8, int(datetime.now(UTC).timestamp())) for _ in addresses]


def asked(monkeypatch: pytest.MonkeyPatch, *nodes: Any) -> Feeds:
    chains = [Chain(id=number, chain_type="evm", feeds=[FEED]) for number in range(1, len(nodes) + 1)]
    monkeypatch.setattr(feeds, "active_chains", lambda: chains)
    monkeypatch.setattr(feeds, "get_client", lambda chain: FakeNode(nodes[chain.pk - 1]))
    monkeypatch.setattr(feeds, "ANSWER_SECONDS", 0.3)
    return Feeds()


@pytest.mark.parametrize("fault", ["hangs", "fails"])
def test_unresponsive_node_does_not_delay_other_chains(monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    over = threading.Event()
    faulty = over if fault == "hangs" else ChainError("no node answers")
    try:
        seen = asked(monkeypatch, faulty, 250_000_000_000).observe(["ETH"])
    finally:
        over.set()
    assert [(each.source, each.value) for each in seen["ETH"]] == [("feeds:2", Decimal(2500))]


def test_where_no_chain_answers_the_source_is_down(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ProviderDown):
        asked(monkeypatch, ChainError("no node answers")).observe(["ETH"])


def test_only_the_pairs_that_are_wanted_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    assert asked(monkeypatch, 250_000_000_000).observe(["USDC"]) == {}
