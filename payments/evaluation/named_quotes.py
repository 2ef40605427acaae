"""Which quote a transaction names (contract 7): pure functions over what pinned contracts were told and have logged.

A provider's id is 32 bytes that the server itself obtained for one route. It counts anywhere in a call that the payer
signed to a pinned contract, and as a whole word of such a contract's log. Some calls carry its first 8 bytes alone:
they count as a word of their own in a log, and in a call where the chain's family says (`CallRules`): directly after an
EVM call's selector, anywhere in a Solana instruction.
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

    `calls` are the places, among the transaction's mentions, of the calls that carry the id of that quote, and
    `others_calls` of those that carry other requests' ids, where a stranger may have added them (`payer_signs_all`).
    Logs name a quote as well, but nothing happens within them.
    """

    naming: Naming
    quote: BuiltQuote | None = None
    calls: frozenset[int] = frozenset()
    others_calls: frozenset[int] = frozenset()


NOTHING_NAMED = Named(Naming.NOBODYS)


@dataclass(frozen=True)
class NamedQuote:
    """A quote that a transaction names, and the places among its mentions of the calls that carry the quote's id."""

    quote: BuiltQuote
    calls: frozenset[int]


def quotes_named(
    facts: TransactionFacts, quotes: Iterable[BuiltQuote], *, rules: CallRules
) -> tuple[NamedQuote, ...]:
    """Return those of the built `quotes` of this chain that the transaction names, of any request.

    A transaction older than a quote can't have been made of it. This is done once for each transaction, however many
    payments name it: who makes it decides how much it says, and an id that occurs nowhere is passed over in one search.
    """
    if not facts.mentions:
        return ()
    said = b"".join(mention.data for mention in facts.mentions)
    named = []
    for quote in quotes:
        is_old = facts.block is not None and facts.block.time < quote.made_at - CLOCK_ALLOWANCE
        if is_old or quote.bound_by[:PREFIX_BYTES] not in said:
            continue
        places = [
            place for place, mention in enumerate(facts.mentions) if _names(mention, quote, rules=rules)
        ]
        calls = frozenset(place for place in places if not facts.mentions[place].is_log)
        named += [NamedQuote(quote, calls)] if places else []
    return tuple(named)


def seen_from(request_id: UUID, named: Sequence[NamedQuote], *, rules: CallRules) -> Named:
    """Return whose quotes a transaction names, seen from the request.

    Where it names several of the request's own, the one that was made last counts.
    """
    if not named:
        return NOTHING_NAMED
    own = [one for one in named if one.quote.request_id == request_id]
    others = [one for one in named if one.quote.request_id != request_id]
    others_calls = frozenset().union(*(one.calls for one in others if not rules.payer_signs_all))
    if not own:
        return Named(Naming.ANOTHERS, others_calls=others_calls)
    last = max(own, key=lambda one: (one.quote.made_at, one.quote.pk))
    return Named(Naming.SEVERAL if others else Naming.OURS, last.quote, last.calls, others_calls)


def _names(mention: Mention, quote: BuiltQuote, *, rules: CallRules) -> bool:
    return mention.contract in quote.contracts and names(mention, quote.bound_by, rules=rules)


def names(mention: Mention, bound_by: bytes, *, rules: CallRules) -> bool:
    """Whether one call or log names the quote with this id, by the whole of it or by its first 8 bytes."""
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
        places = [*range(0, len(mention.data) - ID_BYTES + 1, _ARGUMENT_STEP), len(mention.data) - ID_BYTES]
        ids |= {mention.data[place : place + ID_BYTES] for place in places if place >= 0}
        if rules.selector_bytes is None:
            prefixes |= set(_windows(mention.data))
        else:
            prefixes.add(_packed(mention.data, rules.selector_bytes))
    return ids, {prefix for prefix in prefixes if len(prefix) == PREFIX_BYTES and any(prefix)}


def _packed(data: bytes, selector_bytes: int) -> bytes:
    """Return the bytes where packed calls have the beginning of the id: directly after the selector."""
    return data[selector_bytes : selector_bytes + PREFIX_BYTES]


def _windows(data: bytes) -> Iterator[bytes]:
    return (data[place : place + PREFIX_BYTES] for place in range(len(data) - PREFIX_BYTES + 1))


def _words(data: bytes) -> Iterator[bytes]:
    return (data[place : place + _WORD] for place in range(0, len(data) - _WORD + 1, _WORD))
