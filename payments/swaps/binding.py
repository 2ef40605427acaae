"""Which quote a transaction names (contract 7): pure functions over what pinned contracts were told and have logged.

A provider's id is 32 bytes that the server itself obtained for one route. It counts anywhere in a call that the payer
signed to a pinned contract, and as a whole word of such a contract's log. Some calls carry its first 8 bytes alone:
they count directly after an EVM call's selector, as a word of their own in a log, and in a Solana instruction.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from uuid import UUID

from chains.clients.base import Mention, TransactionFacts
from payments.proof_windows import CLOCK_ALLOWANCE

ID_BYTES = 32
PREFIX_BYTES = 8
_WORD = 32
_SELECTOR = 4
_AFTER_PREFIX = bytes(_WORD - PREFIX_BYTES)


class Naming(Enum):
    """Whose quote a transaction names, seen from one request."""

    NOBODYS = "nobody's"
    OURS = "ours"
    ANOTHERS = "another's"
    SEVERAL = "several requests'"


@dataclass(frozen=True)
class BuiltQuote:
    """A quote whose transaction was handed out; `made_at` is when the provider made it.

    `contracts` are those that the catalogue pins for this provider: one can't choose ids that another's calls hold.
    """

    pk: int
    request_id: UUID
    bound_by: bytes
    made_at: datetime
    contracts: frozenset[str]


@dataclass(frozen=True)
class Named:
    """What a transaction names, seen from one request; `quote` is that request's own, if it is named.

    `calls` are the places, among the transaction's mentions, of the calls that carry the id of that quote, and (EVM)
    `others_calls` of those that carry other requests'. Logs name a quote as well, but nothing happens within them.
    """

    naming: Naming
    quote: BuiltQuote | None = None
    calls: frozenset[int] = frozenset()
    others_calls: frozenset[int] = frozenset()


NOTHING_NAMED = Named(Naming.NOBODYS)


def named_quote(
    facts: TransactionFacts, request_id: UUID, quotes: Iterable[BuiltQuote], *, is_solana: bool
) -> Named:
    """Return which of the built `quotes` of this chain the transaction names, seen from the request.

    A transaction older than a quote can't have been made of it. Where it names several of the request's own, the one
    that was made last counts.
    """
    named = [
        quote
        for quote in quotes
        if (facts.block is None or facts.block.time >= quote.made_at - CLOCK_ALLOWANCE)
        and any(_names(mention, quote, is_solana=is_solana) for mention in facts.mentions)
    ]
    own = [quote for quote in named if quote.request_id == request_id]
    if not named:
        return NOTHING_NAMED
    others = [quote for quote in named if quote.request_id != request_id]
    # On Solana the customer signs all of a transaction, so that nothing in it is a stranger's addition.
    others_calls = _calls_naming(facts, [] if is_solana else others, is_solana=is_solana)
    if not own:
        return Named(Naming.ANOTHERS, others_calls=others_calls)
    quote = max(own, key=lambda quote: (quote.made_at, quote.pk))
    calls = _calls_naming(facts, [quote], is_solana=is_solana)
    return Named(Naming.SEVERAL if others else Naming.OURS, quote, calls, others_calls)


def _calls_naming(
    facts: TransactionFacts, quotes: Sequence[BuiltQuote], *, is_solana: bool
) -> frozenset[int]:
    return frozenset(
        place
        for place, mention in enumerate(facts.mentions)
        if not mention.is_log and any(_names(mention, quote, is_solana=is_solana) for quote in quotes)
    )


def _names(mention: Mention, quote: BuiltQuote, *, is_solana: bool) -> bool:
    return mention.contract in quote.contracts and names(mention, quote.bound_by, is_solana=is_solana)


def names(mention: Mention, bound_by: bytes, *, is_solana: bool) -> bool:
    """Whether one call or log names the quote with this id, by the whole of it or by its first 8 bytes."""
    if len(bound_by) != ID_BYTES or not any(bound_by[:PREFIX_BYTES]):
        return False
    prefix = bound_by[:PREFIX_BYTES]
    if mention.is_log:
        return any(word in (bound_by, prefix + _AFTER_PREFIX) for word in _words(mention.data))
    if bound_by in mention.data:
        return True
    return prefix in mention.data if is_solana else _packed(mention.data) == prefix


def possible_ids(mentions: Sequence[Mention], *, is_solana: bool) -> tuple[set[bytes], set[bytes]]:
    """Return the ids and the beginnings of ids that may stand in what was said, to look for their owners by.

    Ids are looked for where calls put them: at each fourth byte, as arguments within arguments lie, and at the end.
    """
    ids: set[bytes] = set()
    prefixes: set[bytes] = set()
    for mention in mentions:
        if mention.is_log:
            words = set(_words(mention.data))
            ids |= words
            prefixes |= {word[:PREFIX_BYTES] for word in words if word[PREFIX_BYTES:] == _AFTER_PREFIX}
            continue
        places = [*range(0, len(mention.data) - ID_BYTES + 1, _SELECTOR), len(mention.data) - ID_BYTES]
        ids |= {mention.data[place : place + ID_BYTES] for place in places if place >= 0}
        prefixes |= set(_windows(mention.data)) if is_solana else {_packed(mention.data)}
    return ids, {prefix for prefix in prefixes if len(prefix) == PREFIX_BYTES and any(prefix)}


def _packed(data: bytes) -> bytes:
    """Return what stands where packed calls have the beginning of the id: directly after the selector."""
    return data[_SELECTOR : _SELECTOR + PREFIX_BYTES]


def _windows(data: bytes) -> Iterator[bytes]:
    return (data[place : place + PREFIX_BYTES] for place in range(len(data) - PREFIX_BYTES + 1))


def _words(data: bytes) -> Iterator[bytes]:
    return (data[place : place + _WORD] for place in range(0, len(data) - _WORD + 1, _WORD))
