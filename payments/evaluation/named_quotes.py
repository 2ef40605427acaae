"""Find the quotes that a transaction names in the calls and logs of pinned contracts. Pure functions.

A quote id is 32 bytes that the server obtained from the provider for one route. It counts anywhere in a call to a
pinned contract, and as a whole word in such a contract's log. Some calls carry only the first 8 bytes: these count as a
word padded with zeros in a log, directly after the selector of an EVM call, and anywhere in a Solana instruction
(`CallRules`).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from uuid import UUID

from chains.client import Mention, TransactionFacts
from chains.families.base import CallRules
from payments.evaluation.proof_windows import CLOCK_ALLOWANCE

ID_BYTES = 32
PREFIX_BYTES = 8
_WORD = 32
_ARGUMENT_STEP = 4
_AFTER_PREFIX = bytes(_WORD - PREFIX_BYTES)


class Naming(Enum):
    """Whether a transaction names quotes of one request, of other requests, or of both."""

    NONE = "none"
    OURS = "ours"
    OTHERS = "others"
    SEVERAL = "several requests'"


@dataclass(frozen=True)
class BuiltQuote:
    """A quote whose transaction was returned to the customer; `made_at` is when the provider made it.

    `contracts` are those that the catalogue pins for this provider. Only calls to them count. So a provider can't claim
    calls to other providers' contracts by choosing an id that those contain.
    """

    pk: int
    request_id: UUID
    bound_by: bytes
    made_at: datetime
    contracts: frozenset[str]


@dataclass(frozen=True)
class Named:
    """The quotes that a transaction names, relative to one request; `quotes` are that request's own.

    `calls` are the calls that carry the id of one of them, as indexes of `TransactionFacts.mentions`. `others_calls`
    are those that carry other requests' ids; empty if the payer signs all calls of a transaction (`payer_signs_all`).
    Logs can name a quote too, but no transfer happens within a log.
    """

    naming: Naming
    quotes: tuple[BuiltQuote, ...] = ()
    calls: frozenset[int] = frozenset()
    others_calls: frozenset[int] = frozenset()

    @property
    def quote(self) -> BuiltQuote | None:
        """The request's only named quote; None if several are named, because each may be another payer's."""
        return self.quotes[0] if len(self.quotes) == 1 else None


NOTHING_NAMED = Named(Naming.NONE)


@dataclass(frozen=True)
class NamedQuote:
    """A quote that a transaction names. `calls` are those with its id, as indexes of `TransactionFacts.mentions`."""

    quote: BuiltQuote
    calls: frozenset[int]


def quotes_named(
    facts: TransactionFacts, quotes: Iterable[BuiltQuote], *, rules: CallRules
) -> tuple[NamedQuote, ...]:
    """Return those of the built `quotes`, of any request, that the transaction names.

    A transaction older than a quote can't have been built from it. The sender controls the amount of data to search.
    So this runs once per transaction, and ids that occur nowhere in the data are skipped after a single search.
    """
    if not facts.mentions:
        return ()
    all_data = b"".join(mention.data for mention in facts.mentions)
    named = []
    for quote in quotes:
        is_old = facts.block is not None and facts.block.time < quote.made_at - CLOCK_ALLOWANCE
        if is_old or quote.bound_by[:PREFIX_BYTES] not in all_data:
            continue
        places = [
            place for place, mention in enumerate(facts.mentions) if _names(mention, quote, rules=rules)
        ]
        calls = frozenset(place for place in places if not facts.mentions[place].is_log)
        named += [NamedQuote(quote, calls)] if places else []
    return tuple(named)


def naming_for(request_id: UUID, named: Sequence[NamedQuote], *, rules: CallRules) -> Named:
    """Return which of the quotes that a transaction names are of this request, and which of others.

    If it names several quotes of the request, the calls of all of them count, because a relayer can add a
    call with any quote that the page offers.
    """
    if not named:
        return NOTHING_NAMED
    own = [one for one in named if one.quote.request_id == request_id]
    others = [one for one in named if one.quote.request_id != request_id]
    others_calls = frozenset().union(*(one.calls for one in others if not rules.payer_signs_all))
    if not own:
        return Named(Naming.OTHERS, others_calls=others_calls)
    calls = frozenset().union(*(one.calls for one in own))
    naming = Naming.SEVERAL if others else Naming.OURS
    return Named(naming, tuple(one.quote for one in own), calls, others_calls)


def _names(mention: Mention, quote: BuiltQuote, *, rules: CallRules) -> bool:
    return mention.contract in quote.contracts and names(mention, quote.bound_by, rules=rules)


def names(mention: Mention, bound_by: bytes, *, rules: CallRules) -> bool:
    """Whether a call or log contains this quote id or, at the places where that counts, its first 8 bytes."""
    if len(bound_by) != ID_BYTES or not any(bound_by[:PREFIX_BYTES]):
        return False
    prefix = bound_by[:PREFIX_BYTES]
    if mention.is_log:
        return any(word in (bound_by, prefix + _AFTER_PREFIX) for word in _words(mention.data))
    if bound_by in mention.data:
        return True
    if rules.selector_bytes is None:
        return prefix in mention.data
    return _packed(mention.data, rules.selector_bytes) == prefix


def possible_ids(mentions: Sequence[Mention], *, rules: CallRules) -> tuple[set[bytes], set[bytes]]:
    """Return the possible ids and id prefixes in these calls and logs, with which to query the stored quotes.

    In calls, ids are expected at every fourth byte, where nested arguments lie, and at the end.
    """
    ids: set[bytes] = set()
    prefixes: set[bytes] = set()
    for mention in mentions:
        if mention.is_log:
            words = set(_words(mention.data))
            ids |= words
            prefixes |= {word[:PREFIX_BYTES] for word in words if word[PREFIX_BYTES:] == _AFTER_PREFIX}
            continue
        places = [*range(0, len(mention.data) - ID_BYTES + 1, _ARGUMENT_STEP), len(mention.data) - ID_BYTES]
        ids |= {mention.data[place : place + ID_BYTES] for place in places if place >= 0}
        if rules.selector_bytes is None:
            prefixes |= set(_windows(mention.data))
        else:
            prefixes.add(_packed(mention.data, rules.selector_bytes))
    return ids, {prefix for prefix in prefixes if len(prefix) == PREFIX_BYTES and any(prefix)}


def _packed(data: bytes, selector_bytes: int) -> bytes:
    """Return the 8 bytes directly after the selector. Packed calls carry the start of an id there."""
    return data[selector_bytes : selector_bytes + PREFIX_BYTES]


def _windows(data: bytes) -> Iterator[bytes]:
    return (data[place : place + PREFIX_BYTES] for place in range(len(data) - PREFIX_BYTES + 1))


def _words(data: bytes) -> Iterator[bytes]:
    return (data[place : place + _WORD] for place in range(0, len(data) - _WORD + 1, _WORD))
