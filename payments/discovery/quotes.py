"""Find swaps whose wallet returned no hash. The logs of the providers' contracts have the ids of the swaps'
quotes.

A quote's id is unique, and the provider's router logs it (`payments.evaluation.named_quotes`). One search covers
all watched quotes of a chain. Each transaction found becomes a payment, like a submitted one. Verification
decides how much it pays.

Anyone can log an id once it is public. So each request has a limit for transactions from senders other than the
route's wallet. A legitimate example is the bundler that sends for a contract account.
"""

import logging
from collections import defaultdict
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Q, QuerySet
from django.db.models.functions import Greatest

from chains.client import ChainClient
from chains.models import Chain
from payments.discovery.plan import Position
from payments.discovery.search_pass import searched_again
from payments.discovery.starts import start_of
from payments.discovery.watches import AFTERWARDS
from payments.evaluation.named_quotes import ID_BYTES, PREFIX_BYTES
from payments.models import DiscoveryCursor, Payment, PaymentRequest, Quote
from payments.submission.hashes import record_discovered
from payments.verification.quote_evidence import contracts_of, named_quotes_by_hash, pinned_contracts
from payments.verification.reopening import decided_or_open

logger = logging.getLogger(__name__)

MAX_OF_OTHER_SENDERS = 5
_COLUMNS = ("provider", "bound_by", "created_at", "route__request_id", "route__wallet_address")
_ENDED_AT = Greatest(
    "route__request__completed_at", "route__request__expired_at", "route__request__cancelled_at"
)


def chains_with_quotes(now: datetime) -> set[int]:
    quotes = _watched_since(now - AFTERWARDS)
    return set(quotes.order_by().values_list("route__chain_id", flat=True).distinct())


def watched_quotes(cursor: DiscoveryCursor, now: datetime) -> QuerySet[Quote]:
    """Return the chain's watched quotes. A watched quote is built, and its request is active or ended less than a
    day ago.

    The day counts back from the last search, not from now, so that swaps made during an outage are still found.
    """
    since = min(cursor.quotes_searched_at or now, now) - AFTERWARDS
    return _watched_since(since).filter(route__chain=cursor.chain_id)


def search_for_quotes(chain: Chain, client: ChainClient, *, claim_id: UUID, now: datetime) -> int:
    """Search the chain up to its head, as far as time allows. Return how many payments were found.

    The cursor moves only while this worker holds the chain's lease. Raises ChainError.
    """
    cursor = DiscoveryCursor.objects.get(chain=chain)
    if not chain.routers or not client.search_limits().by_block or not watched_quotes(cursor, now).exists():
        return 0
    head = client.head()
    # Query the head first, then load the quotes. A quote that is built later can't have a transaction up to
    # this head.
    quotes = list(watched_quotes(cursor, now).select_related("route").only(*_COLUMNS).order_by("pk"))
    contracts = {contract for quote in quotes for contract in contracts_of(quote.provider, chain)}
    since = _first_block(cursor, quotes, client, head, now) if quotes and contracts else head + 1
    if since > head:
        return 0
    by_word = _by_word(quotes)
    logged = client.find_in_logs(by_word.keys(), contracts, since_block=since, until_block=head)
    found = _record(
        chain, client, [(by_word[word], hash_) for word, hash_ in logged.found if word in by_word]
    )
    stable_until = max(
        min(logged.next_block, head + 1 - searched_again(chain)), cursor.quotes_next_block or 0
    )
    moved: dict[str, object] = {"quotes_next_block": stable_until}
    if logged.next_block > head:
        moved["quotes_searched_at"] = now
    DiscoveryCursor.objects.filter(chain=chain, claim_id=claim_id).update(**moved)
    return found


def _watched_since(since: datetime) -> QuerySet[Quote]:
    # Filter by `watched_until` first, because it has an index. Allow one more day, since a payment in flight can keep
    # a request active for a day after its expiry.
    recent = Quote.objects.filter(watched_until__gt=since - timedelta(days=1)).alias(ended_at=_ENDED_AT)
    return recent.filter(Q(route__request__status=PaymentRequest.Status.ACTIVE) | Q(ended_at__gt=since))


def _first_block(
    cursor: DiscoveryCursor, quotes: Sequence[Quote], client: ChainClient, head: int, now: datetime
) -> int:
    # Use `created_at`, which is never later than `built_at`. `built_at` changes when a quote is returned again.
    oldest = min(quote.created_at for quote in quotes)
    position = Position(cursor.quotes_next_block, cursor.quotes_searched_at)
    block_time = timedelta(milliseconds=max(cursor.chain.block_time_ms, 1))
    return start_of(position, oldest, client, head=head, block_time=block_time, now=now)


def _by_word(quotes: Sequence[Quote]) -> dict[bytes, Quote]:
    """Index each quote by the two words that a log may contain: the whole id, and its first 8 bytes followed by
    zeros.
    """
    by_word = {}
    for quote in quotes:
        bound_by = bytes(quote.bound_by)
        if len(bound_by) == ID_BYTES and any(bound_by[:PREFIX_BYTES]):
            by_word[bound_by[:PREFIX_BYTES].ljust(ID_BYTES, b"\0")] = quote
            by_word[bound_by] = quote
    return by_word


def _record(chain: Chain, client: ChainClient, matches: Collection[tuple[Quote, str]]) -> int:
    """Create a payment for each new transaction that has the id of one of these quotes. Return the number of
    payments.
    """
    hashes = sorted({hash_ for _, hash_ in matches})
    existing = decided_or_open(chain, hashes)
    new = [(quote, hash_) for quote, hash_ in matches if (quote.route.request_id, hash_) not in existing]
    if not new:
        return 0
    snapshot = client.look_up(
        sorted({hash_ for _, hash_ in new}), with_finality=False, mentioning=pinned_contracts(chain)
    )
    named = named_quotes_by_hash(snapshot, {quote.pk: quote for quote, _ in new}.values(), chain)
    found = 0
    for request_id, candidates in _by_request(new).items():
        others = Payment.objects.filter(request=request_id, chain=chain, submitted_publicly=False).count()
        for quote, hash_ in candidates:
            facts = snapshot.transactions.get(hash_)
            is_named = any(one.quote.pk == quote.pk for one in named.get(hash_, ()))
            is_mined = facts is not None and facts.block is not None and facts.succeeded
            if not (is_mined and is_named) and hash_ not in snapshot.contradicted:
                continue
            if facts is None or facts.sender != quote.route.wallet_address:
                others += 1
                if others > MAX_OF_OTHER_SENDERS:
                    logger.warning("%s of another sender names quote %s; it is not followed", hash_, quote.pk)
                    continue
            record_discovered(
                quote.route.request,
                chain=chain,
                transaction_hash=hash_,
                route=quote.route,
                found_by="the swap id",
            )
            found += 1
    return found


def _by_request(matches: Collection[tuple[Quote, str]]) -> dict[UUID, list[tuple[Quote, str]]]:
    """Group the matches by request. Each transaction appears once."""
    by_request: dict[UUID, dict[str, Quote]] = defaultdict(dict)
    for quote, hash_ in matches:
        by_request[quote.route.request_id].setdefault(hash_, quote)
    return {
        request_id: [(quote, hash_) for hash_, quote in quotes.items()]
        for request_id, quotes in by_request.items()
    }
