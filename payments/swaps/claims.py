"""Reading what a batch of payments may claim by quotes and deliveries: which quotes were built, which are named."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet

from chains.clients.base import Snapshot, TransactionFacts
from chains.models import Chain, ChainType
from payments.binding import Delivery, Proof
from payments.models import ConsumedTransfer, Payment, Quote
from payments.models.proof import PayerProof
from payments.swaps.binding import NOTHING_NAMED, BuiltQuote, Named, named_quote, possible_ids

_ASKED_AT_ONCE = 10_000
_PREFIXES_AT_ONCE = 200
_LAST = b"\xff"
_ID_BYTES = 32


def pinned_contracts(chain: Chain) -> frozenset[str]:
    """Return the contracts or programs that the catalogue pins on this chain, of every provider."""
    return frozenset(contract for contracts in chain.routers.values() for contract in contracts)


def contracts_of(provider: str, chain: Chain) -> frozenset[str]:
    """Return the contracts or programs that the catalogue pins on this chain for one provider."""
    return frozenset(chain.routers.get(provider, ()))


def quotes_of(requests: Collection[UUID], chain: Chain) -> dict[int, Quote]:
    """Return the quotes of these requests whose transactions were handed out on this chain, by their key."""
    return {quote.pk: quote for quote in _built(chain).filter(route__request__in=requests)}


def quotes_named_in(snapshot: Snapshot, chain: Chain) -> dict[int, Quote]:
    """Return the built quotes of this chain that the transactions may name, whoever's they are."""
    is_solana = chain.chain_type == ChainType.SOLANA
    ids: set[bytes] = set()
    prefixes: set[bytes] = set()
    for facts in snapshot.transactions.values():
        if facts is not None:
            more_ids, more_prefixes = possible_ids(facts.mentions, is_solana=is_solana)
            ids |= more_ids
            prefixes |= more_prefixes
    found: dict[int, Quote] = {}
    for some in _parts(ids, _ASKED_AT_ONCE):
        found |= {quote.pk: quote for quote in _built(chain).filter(bound_by__in=some)}
    for some in _parts(prefixes, _PREFIXES_AT_ONCE):
        begins = Q()
        for prefix in some:
            begins |= Q(
                bound_by__gte=prefix.ljust(_ID_BYTES, b"\0"), bound_by__lte=prefix.ljust(_ID_BYTES, _LAST)
            )
        found |= {quote.pk: quote for quote in _built(chain).filter(begins)}
    return found


def _parts(values: Collection[bytes], size: int) -> Iterator[list[bytes]]:
    whole = list(values)
    return (whole[start : start + size] for start in range(0, len(whole), size))


def _built(chain: Chain) -> QuerySet[Quote]:
    return Quote.objects.filter(route__chain=chain, built_at__isnull=False).select_related("route__token")


def named_by(
    facts: TransactionFacts | None, request_id: UUID, quotes: Iterable[Quote], chain: Chain
) -> Named:
    """Return whose quotes the transaction names, seen from the request."""
    if facts is None:
        return NOTHING_NAMED
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
    return named_quote(facts, request_id, built, is_solana=chain.chain_type == ChainType.SOLANA)


def deliveries_of(payments: Sequence[Payment], chain: Chain, snapshot: Snapshot) -> dict[str, Delivery]:
    """Return for each payment that awaits a delivery what may be taken of it. Two queries, and none without such."""
    awaiting = [payment for payment in payments if payment.has_delivery]
    if not awaiting:
        return {}
    taken: dict[str, set[str]] = defaultdict(set)
    consumed = ConsumedTransfer.objects.filter(
        chain=chain, transaction_hash__in={payment.counted_hash for payment in awaiting}
    )
    for transaction_hash, slot in consumed.values_list("transaction_hash", "slot"):
        taken[transaction_hash].add(slot)
    others = _proofs_of_senders(awaiting, chain, snapshot)
    return {
        payment.pk: Delivery(
            payment.reported_amount,
            frozenset(taken[payment.counted_hash]),
            tuple(
                Proof(row.address, row.not_before, row.not_after)
                for row in others
                if row.request_id != payment.request_id
                and row.recipient_address == payment.request.recipient_address
                and row.token_id == payment.request.token_id
            ),
            payment.names_itself,
        )
        for payment in awaiting
    }


def _proofs_of_senders(awaiting: Sequence[Payment], chain: Chain, snapshot: Snapshot) -> list[PayerProof]:
    """Return the proofs that stand of those who sent anything in the deliveries: it is theirs to pay with."""
    senders = {
        transfer.sender
        for payment in awaiting
        if (facts := snapshot.transactions.get(payment.counted_hash)) is not None
        for transfer in facts.transfers
    }
    return list(standing_proofs().filter(chain=chain, address__in=senders)) if senders else []


def standing_proofs() -> QuerySet[PayerProof]:
    """Return the proofs after which the wallet gave none for another request of the same kind."""
    later = PayerProof.objects.filter(
        address=OuterRef("address"),
        chain=OuterRef("chain"),
        token=OuterRef("token"),
        recipient_address=OuterRef("recipient_address"),
        verified_at__gt=OuterRef("verified_at"),
    ).exclude(request=OuterRef("request"))
    return PayerProof.objects.filter(~Exists(later))
