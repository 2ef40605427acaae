"""Find the quotes whose ids are in a transaction: in calls to pinned contracts, or in their logs. Pure functions.

A quote id is 32 bytes that the server got from the provider for one route. In a call, the id counts at any place.
In a log, it counts as a whole word.

Some calls carry only the first 8 bytes of the id. In a log, these 8 bytes count as a word that ends with zeros. In an
EVM call, they count directly after the selector. In a Solana instruction, they count at any place (`CallRules`).
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
    """Whose quotes a transaction names: this request's, other requests', or both."""

    NONE = "none"
    OURS = "ours"
    OTHERS = "others"
    SEVERAL = "several requests'"


@dataclass(frozen=True)
class BuiltQuote:
    """A quote whose transaction was returned to the customer. `made_at` is when the provider made it.

    `contracts` are the contracts that the catalogue pins for this provider. Calls to other contracts don't count,
    because a provider could choose an id that occurs in calls to another provider's contracts.
    """

    pk: int
    request_id: UUID
    bound_by: bytes
    made_at: datetime
    contracts: frozenset[str]


@dataclass(frozen=True)
class Named:
    """The quotes that a transaction names, from the view of one request. `quotes` are those of this request.

    `calls` carry the id of one of these quotes; `others_calls` carry ids of other requests' quotes. A call is an
    index of `TransactionFacts.mentions`. `others_calls` is empty if the payer signs all calls of a transaction
    (`payer_signs_all`). A log can name a quote too, but no transfer happens within a log.
    """

    naming: Naming
    quotes: tuple[BuiltQuote, ...] = ()
    calls: frozenset[int] = frozenset()
    others_calls: frozenset[int] = frozenset()

    @property
    def quote(self) -> BuiltQuote | None:
        """The only named quote of this request. If there are several, any may be another payer's, so return None."""
        return self.quotes[0] if len(self.quotes) == 1 else None


NOTHING_NAMED = Named(Naming.NONE)


@dataclass(frozen=True)
class NamedQuote:
    """A quote that a transaction names. `calls` carry its id; they are indexes of `TransactionFacts.mentions`."""

    quote: BuiltQuote
    calls: frozenset[int]


def quotes_named(
    facts: TransactionFacts, quotes: Iterable[BuiltQuote], *, rules: CallRules
) -> tuple[NamedQuote, ...]:
    """Return the quotes, of any request, that the transaction names.

    A transaction that is older than a quote can't name it. Call this once per transaction, since the sender chooses
    how much data there is to search. An id that is not in the data costs only one search.
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
    """Divide the named quotes into those of this request and those of others.

    If the transaction names several quotes of the request, the calls of all of them count. Otherwise a relayer could
    spoil the payment with an extra call that has the id of another quote of the same request.
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
    """Whether a call or log contains this quote id, or its first 8 bytes at a place where these count."""
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
    """Return the possible ids and the possible prefixes of ids in these calls and logs, to look up stored quotes.

    In a call, an id may begin at every fourth byte (nested arguments do), or be the last bytes.
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
    """Return the 8 bytes after the selector. In packed calls, they are the beginning of an id."""
    return data[selector_bytes : selector_bytes + PREFIX_BYTES]


def _windows(data: bytes) -> Iterator[bytes]:
    return (data[place : place + PREFIX_BYTES] for place in range(len(data) - PREFIX_BYTES + 1))


def _words(data: bytes) -> Iterator[bytes]:
    return (data[place : place + _WORD] for place in range(0, len(data) - _WORD + 1, _WORD))
