"""Read the quotes and deliveries that may bind a batch of lookups."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from uuid import UUID

from django.db import connection
from django.db.models import Exists, OuterRef, QuerySet

from chains.client import Snapshot
from chains.models import Chain
from payments.evaluation.binding import Delivery, Taken
from payments.evaluation.named_quotes import (
    ID_BYTES,
    PREFIX_BYTES,
    BuiltQuote,
    NamedQuote,
    possible_ids,
    quotes_named,
)
from payments.models import ConsumedTransfer, Lookup, PayerProof, Payment, Quote

_IDS_PER_QUERY = 10_000
# A call can contain more than a thousand possible ids. All are sent as one byte string. Each costs one index lookup.
_QUOTES_BY_PREFIX = """
    SELECT quote.id
    FROM (SELECT substring(%s::bytea FROM at FOR %s) AS bytes FROM generate_series(1, %s, %s) AS at) AS beginning
    JOIN payments_quote AS quote ON quote.bound_by BETWEEN beginning.bytes AND beginning.bytes || %s
"""


def pinned_contracts(chain: Chain) -> frozenset[str]:
    """Return all providers' contracts (on Solana, programs) that the catalogue pins on this chain."""
    return frozenset(contract for contracts in chain.routers.values() for contract in contracts)


def contracts_of(provider: str, chain: Chain) -> frozenset[str]:
    """Return one provider's contracts (on Solana, programs) that the catalogue pins on this chain."""
    return frozenset(chain.routers.get(provider, ()))


def quotes_of(requests: Collection[UUID], chain: Chain) -> dict[int, Quote]:
    """Return these requests' built quotes on this chain, by primary key."""
    return {quote.pk: quote for quote in _built_quotes(chain).filter(route__request__in=requests)}


def quotes_named_in(snapshot: Snapshot, chain: Chain) -> dict[int, Quote]:
    """Return built quotes of any request that these transactions may name, by primary key."""
    rules = chain.family.call_rules
    ids: set[bytes] = set()
    prefixes: set[bytes] = set()
    for facts in snapshot.transactions.values():
        if facts is not None:
            more_ids, more_prefixes = possible_ids(facts.mentions, rules=rules)
            ids |= more_ids
            prefixes |= more_prefixes
    keys = [*_keys_by_prefix(ids, ID_BYTES), *_keys_by_prefix(prefixes, PREFIX_BYTES)]
    return {quote.pk: quote for quote in _built_quotes(chain).filter(pk__in=keys)} if keys else {}


def _keys_by_prefix(prefixes: Collection[bytes], length: int) -> Iterator[int]:
    """Yield the primary keys of quotes whose id starts with one of these prefixes. Each prefix has `length` bytes."""
    whole, rest = list(prefixes), b"\xff" * (ID_BYTES - length)
    for start in range(0, len(whole), _IDS_PER_QUERY):
        chunk = whole[start : start + _IDS_PER_QUERY]
        with connection.cursor() as cursor:
            cursor.execute(_QUOTES_BY_PREFIX, [b"".join(chunk), length, length * len(chunk), length, rest])
            yield from (key for (key,) in cursor.fetchall())


def _built_quotes(chain: Chain) -> QuerySet[Quote]:
    return Quote.objects.filter(route__chain=chain, built_at__isnull=False).select_related("route__token")


def named_quotes_by_hash(
    snapshot: Snapshot, quotes: Iterable[Quote], chain: Chain
) -> dict[str, tuple[NamedQuote, ...]]:
    rules = chain.family.call_rules
    built = [
        BuiltQuote(
            quote.pk,
            quote.route.request_id,
            bytes(quote.bound_by),
            quote.created_at,
            contracts_of(quote.provider, chain),
        )
        for quote in quotes
    ]
    return {
        hash_: quotes_named(facts, built, rules=rules)
        for hash_, facts in snapshot.transactions.items()
        if facts is not None
    }


def deliveries_of(lookups: Sequence[Lookup], chain: Chain) -> dict[str, Delivery]:
    """Return a `Delivery` with its consumed transfers for each lookup of a delivery, by payment id.

    The payment's own transfers are left out: after a reorganisation, the same transaction may be credited again.

    Makes one query, or none if there are no deliveries.
    """
    deliveries = [lookup for lookup in lookups if lookup.is_delivery]
    if not deliveries:
        return {}
    taken: dict[str, list[tuple[str, tuple[str, str, int]]]] = defaultdict(list)
    consumed = ConsumedTransfer.objects.filter(
        chain=chain, transaction_hash__in={lookup.transaction_hash for lookup in deliveries}
    )
    rows = consumed.values_list("transaction_hash", "payment_id", "slot", "account", "amount")
    for transaction_hash, payment_id, slot, account, amount in rows:
        taken[transaction_hash].append((payment_id, (slot, account, amount)))
    return {
        lookup.payment_id: Delivery(
            lookup.payment.swap.reported_amount,
            Taken(tuple(each for of, each in taken[lookup.transaction_hash] if of != lookup.payment_id)),
            lookup.is_customers_own,
        )
        for lookup in deliveries
    }


def reported_elsewhere(lookups: Sequence[Lookup], chain: Chain) -> dict[str, tuple[int, ...]]:
    """Return, by payment id, the amounts that these transactions delivered for other requests, as providers report.

    Counts only deliveries by the customer's own transaction, of the same token to the same recipient. Makes one query.
    """
    direct = [
        lookup
        for lookup in lookups
        if lookup.is_customers_own and lookup.chain_id == lookup.payment.request.chain_id
    ]
    reported = Lookup.objects.filter(
        of_swap__isnull=False,
        of_swap__reported_amount__isnull=False,
        chain=chain,
        transaction_hash__in={lookup.transaction_hash for lookup in direct},
    ).exclude(of_swap__payment__status=Payment.Status.COMPLETED)
    request = "of_swap__payment__request"
    rows = reported.values_list(
        "transaction_hash",
        f"{request}_id",
        f"{request}__recipient_address",
        f"{request}__token_id",
        "of_swap__reported_amount",
    )
    by_hash: dict[str, list[tuple[UUID, str, int, int]]] = defaultdict(list)
    for transaction_hash, request_id, recipient, token, amount in rows if direct else ():
        by_hash[transaction_hash].append((request_id, recipient, token, int(amount or 0)))
    return {
        lookup.payment_id: tuple(
            amount
            for request_id, recipient, token, amount in by_hash[lookup.transaction_hash]
            if request_id != lookup.payment.request_id
            and recipient == lookup.payment.request.recipient_address
            and token == lookup.payment.request.token_id
        )
        for lookup in direct
        if lookup.transaction_hash in by_hash
    }


def current_proofs() -> QuerySet[PayerProof]:
    """Return the proofs that are still valid.

    A proof is replaced when the same wallet gives a later one for another request with the same token and
    recipient.
    """
    later = PayerProof.objects.filter(
        address=OuterRef("address"),
        chain=OuterRef("chain"),
        token=OuterRef("token"),
        recipient_address=OuterRef("recipient_address"),
        verified_at__gt=OuterRef("verified_at"),
    ).exclude(request=OuterRef("request"))
    return PayerProof.objects.filter(~Exists(later))
