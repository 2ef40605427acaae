"""The quote that a transaction names, by its whole id or the id's first eight bytes."""

import uuid
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chains.client import Block, Mention, TransactionFacts
from chains.families import family_of
from chains.families.base import CallRules
from payments.evaluation import named_quotes
from payments.evaluation.named_quotes import BuiltQuote, Naming, names, naming_for, possible_ids, quotes_named

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
ID = bytes(range(1, 33))
PREFIX = ID[:8]
OTHER_ID = bytes(range(101, 133))
SELECTOR = bytes.fromhex("4666fc80")
ROUTER = "0x1231DEB6f5749EF6cE6943a275A1D3E7486F4EaE"
OURS, ANOTHERS = uuid.UUID(int=1), uuid.UUID(int=2)
EVM_CALLS = family_of("evm").call_rules
SOLANA_CALLS = family_of("solana").call_rules


def call(data: bytes) -> Mention:
    return Mention(ROUTER, data)


def log(*words: bytes) -> Mention:
    return Mention(ROUTER, b"".join(words), is_log=True)


@pytest.mark.parametrize(
    "mention",
    [
        call(SELECTOR + ID),
        call(SELECTOR + bytes(32) + ID + bytes(5)),
        call(SELECTOR + bytes(7) + ID),
        call(SELECTOR + PREFIX),
        call(SELECTOR + PREFIX + b"and anything after it"),
        log(bytes(32), ID),
        log(ID, bytes(64)),
        log(bytes(32), PREFIX + bytes(24)),
    ],
)
def test_it_is_named(mention: Mention) -> None:
    assert names(mention, ID, rules=EVM_CALLS)


@pytest.mark.parametrize(
    "mention",
    [
        call(b""),
        call(SELECTOR),
        call(ID[1:]),
        call(SELECTOR + b"\0" + ID[:-1]),
        call(PREFIX + ID[9:]),
        call(SELECTOR + b"\0" + PREFIX),
        call(bytes(32) + PREFIX),
        log(bytes(32), bytes(1) + ID[:31]),
        log(bytes(16) + ID + bytes(16)),
        log(PREFIX + b"\1" + bytes(23)),
        log(bytes(24) + PREFIX),
        log(ID[:31]),
    ],
)
def test_it_is_not_named(mention: Mention) -> None:
    assert not names(mention, ID, rules=EVM_CALLS)


def test_a_solana_instruction_may_hold_the_beginning_anywhere() -> None:
    assert names(call(b"discrim!" + PREFIX), ID, rules=SOLANA_CALLS)
    assert names(call(b"x" + PREFIX + b"y"), ID, rules=SOLANA_CALLS)
    assert not names(call(b"x" + PREFIX[:7] + b"y"), ID, rules=SOLANA_CALLS)


@pytest.mark.parametrize("weak", [bytes(32), bytes(8) + ID[:24], ID[:31], b""])
def test_an_id_that_begins_with_nothing_or_is_none_binds_nothing(weak: bytes) -> None:
    for mention in (call(SELECTOR + bytes(200)), log(bytes(32)), call(SELECTOR + weak.ljust(32, b"\0"))):
        assert not names(mention, weak, rules=EVM_CALLS)


def mined(*mentions: Mention, after: timedelta = timedelta(minutes=1)) -> TransactionFacts:
    return TransactionFacts("0x1", "0x2", 0, Block(1, "0x3", NOW + after), True, (), mentions=mentions)


def quote(
    bound_by: bytes = ID, request: uuid.UUID = OURS, pk: int = 1, made: timedelta = timedelta()
) -> BuiltQuote:
    return BuiltQuote(pk, request, bound_by, NOW + made, frozenset({ROUTER}))


def seen(facts: TransactionFacts, *quotes: BuiltQuote) -> tuple[Naming, int | None]:
    named = naming_for(OURS, quotes_named(facts, quotes, rules=EVM_CALLS), rules=EVM_CALLS)
    return named.naming, named.quote.pk if named.quote else None


def test_whose_it_is() -> None:
    ours, anothers = quote(), quote(OTHER_ID, ANOTHERS, 2)
    assert seen(mined(call(SELECTOR + bytes(64))), ours, anothers) == (Naming.NONE, None)
    assert seen(mined(call(SELECTOR + ID)), ours, anothers) == (Naming.OURS, 1)
    assert seen(mined(call(SELECTOR + OTHER_ID)), ours, anothers) == (Naming.OTHERS, None)
    assert seen(mined(call(SELECTOR + ID), log(OTHER_ID)), ours, anothers) == (Naming.SEVERAL, 1)
    assert seen(mined(call(SELECTOR + ID + OTHER_ID)), ours, anothers) == (Naming.SEVERAL, 1)


def test_the_calls_of_each_are_told_apart() -> None:
    mentions = (call(SELECTOR + OTHER_ID), call(SELECTOR + ID), log(OTHER_ID), call(SELECTOR + ID + OTHER_ID))
    quotes = (quote(), quote(OTHER_ID, ANOTHERS, 2))
    named = naming_for(OURS, quotes_named(mined(*mentions), quotes, rules=EVM_CALLS), rules=EVM_CALLS)
    assert (named.calls, named.others_calls) == (frozenset({1, 3}), frozenset({0, 3}))
    on_solana = naming_for(
        OURS, quotes_named(mined(*mentions), quotes, rules=SOLANA_CALLS), rules=SOLANA_CALLS
    )
    assert on_solana.others_calls == frozenset()


def test_several_quotes_of_a_request_count_without_single_quote() -> None:
    """A relayer of one quote's transaction can add a call with another quote."""
    quotes = (quote(), quote(OTHER_ID, OURS, 2, timedelta(seconds=30)))
    facts = mined(call(SELECTOR + ID), call(SELECTOR + bytes(64)), call(SELECTOR + OTHER_ID))
    for order in (quotes, quotes[::-1]):
        named = naming_for(OURS, quotes_named(facts, order, rules=EVM_CALLS), rules=EVM_CALLS)
        assert (named.naming, named.calls, named.others_calls) == (Naming.OURS, {0, 2}, frozenset())
        assert (set(named.quotes), named.quote) == (set(quotes), None)


def test_other_requests_quote_leaves_a_single_own_quote() -> None:
    facts = mined(call(SELECTOR + ID), call(SELECTOR + OTHER_ID))
    quotes = (quote(), quote(OTHER_ID, ANOTHERS, 2))
    named = naming_for(OURS, quotes_named(facts, quotes, rules=EVM_CALLS), rules=EVM_CALLS)
    assert (named.quotes, named.calls, named.others_calls) == (quotes[:1], {0}, {1})


def test_a_transaction_older_than_the_quote_does_not_name_it() -> None:
    """The difference exceeds the tolerance for block producers' clocks."""
    facts = mined(call(SELECTOR + ID), after=timedelta())
    assert seen(facts, quote(made=timedelta(seconds=30))) == (Naming.OURS, 1)
    assert seen(facts, quote(made=timedelta(seconds=31))) == (Naming.NONE, None)
    stale = quote(OTHER_ID, ANOTHERS, 2, timedelta(hours=1))
    assert seen(mined(call(SELECTOR + ID + OTHER_ID)), quote(), stale) == (Naming.OURS, 1)


def test_only_the_contracts_of_its_own_provider_name_a_quote() -> None:
    """If a provider's contract were taken over, it could choose an id that occurs in every call of another provider."""
    facts = mined(call(SELECTOR + ID + OTHER_ID))
    chosen = replace(
        quote(OTHER_ID, ANOTHERS, 2), contracts=frozenset({"0x4cD00E387622C35bDDB9b4c962C136462338BC31"})
    )
    assert seen(facts, quote(), chosen) == (Naming.OURS, 1)
    assert seen(facts, chosen) == (Naming.NONE, None)


def test_what_is_in_no_block_names_its_quote_by_its_own_bytes() -> None:
    facts = TransactionFacts("0x1", "0x2", 0, None, False, (), mentions=(call(SELECTOR + ID),))
    assert seen(facts, quote()) == (Naming.OURS, 1)


@given(before=st.binary(max_size=90), after=st.binary(max_size=70), is_log=st.booleans())
def test_named_id_is_always_among_possible_ids(before: bytes, after: bytes, is_log: bool) -> None:
    unit = 32 if is_log else 4
    data = before[: len(before) // unit * unit] + ID + after
    mention = Mention(ROUTER, data, is_log)
    assert names(mention, ID, rules=EVM_CALLS)
    assert ID in possible_ids([mention], rules=EVM_CALLS)[0]


@pytest.mark.parametrize(
    ("mention", "rules"),
    [
        (call(SELECTOR + PREFIX), EVM_CALLS),
        (log(PREFIX + bytes(24)), EVM_CALLS),
        (call(b"abc" + PREFIX + b"d"), SOLANA_CALLS),
    ],
)
def test_beginnings_are_looked_for_where_they_count(mention: Mention, rules: CallRules) -> None:
    assert PREFIX in possible_ids([mention], rules=rules)[1]


def test_what_ends_in_the_id_is_found_wherever_it_lies() -> None:
    assert ID in possible_ids([call(SELECTOR + b"\1\2\3" + ID)], rules=EVM_CALLS)[0]


@given(st.binary(max_size=40))
def test_no_bytes_break_it(data: bytes) -> None:
    for mention in (call(data), Mention(ROUTER, data, is_log=True)):
        for rules in (EVM_CALLS, SOLANA_CALLS):
            names(mention, ID, rules=rules)
            ids, prefixes = possible_ids([mention], rules=rules)
            assert all(len(found) == 32 for found in ids)
            assert all(len(found) == 8 and any(found) for found in prefixes)


def test_quotes_whose_ids_occur_nowhere_cost_one_search_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sender decides how much data a transaction has.

    The data must not be searched once for each quote in the batch.
    """
    compared: list[bytes] = []

    def compare(mention: Mention, bound_by: bytes, *, rules: CallRules) -> bool:
        compared.append(bound_by)
        return names(mention, bound_by, rules=rules)

    monkeypatch.setattr(named_quotes, "names", compare)
    mentions = [call(n.to_bytes(2) * 50) for n in range(1000)]
    mentions[500] = call(SELECTOR + ID)
    others = [quote(sha256(n.to_bytes(2)).digest(), ANOTHERS, n) for n in range(2, 300)]
    [named] = quotes_named(mined(*mentions), [quote(), *others], rules=EVM_CALLS)
    assert (named.quote.pk, named.calls) == (1, frozenset({500}))
    assert compared == [ID] * 1000
