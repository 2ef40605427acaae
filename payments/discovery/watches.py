"""Select the payment requests that a chain is searched for: the *watched* requests.

A transaction carries a reference only if the service built it, or if a wallet made it from a wallet link. So a
request is watched once a route was built or a link was shown, until a day after its end. A request that carries a
refund has no deadline. Such a request is watched until the refund's `watched_until`, whatever the request's
status.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from django.db.models import Count, Exists, Min, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce, Greatest, Least

from chains.client import Watch
from chains.models import Chain
from payments.models import DiscoveryCursor, MerchantCursor, Payment, PaymentRequest, Refund, Route
from payments.models.request import ENDED_AT

AFTERWARDS = timedelta(days=1)


class Watched(NamedTuple):
    """`watch` has the request's reference, token and recipient."""

    request_id: UUID
    merchant_id: UUID
    watch: Watch


@dataclass(frozen=True)
class Watching:
    """One merchant's watched requests on a chain. `oldest` is when the first of their references was published.

    No earlier transaction can carry one of these references, even if the requests are older.
    """

    merchant_id: UUID
    watches: int
    oldest: datetime


def watched(chain: Chain, now: datetime) -> QuerySet[PaymentRequest]:
    """Return the chain's watched requests.

    A request is watched until a day after its end. The day counts back from the merchant's last search, not from now,
    so that payments made during an outage are found afterwards.
    """
    cursor = DiscoveryCursor.objects.filter(chain=chain).first()
    default = (cursor and cursor.searched_at) or now
    own = MerchantCursor.objects.filter(chain=chain, searched_at__isnull=False)
    earliest = own.aggregate(at=Min("searched_at"))["at"] or default
    of_merchant = Subquery(own.filter(merchant=OuterRef("merchant")).values("searched_at"))
    searched_at = Least(Coalesce(of_merchant, Value(default)), Value(now))
    # The first condition on `ended_at` has a constant, so it can use the index. The second condition is exact.
    searched_since = min(earliest, default, now)
    since = searched_since - AFTERWARDS
    ended = Q(ended_at__gt=since) & Q(ended_at__gt=searched_at - Value(AFTERWARDS))
    # A swap has no reference, so only direct routes count here.
    built = Route.objects.filter(request=OuterRef("pk"), built_at__isnull=False, type=Payment.Type.DIRECT)
    handed_out = Q(link_shown_at__isnull=False) | Exists(built)
    usual = Q(is_refund=False) & (Q(status=PaymentRequest.Status.ACTIVE) | ended)
    # A list, not a subquery, so that PostgreSQL can use the indexes. There are few watched refunds.
    refunds = Refund.objects.filter(watched_until__gt=searched_since, carrier__chain=chain)
    carriers = list(refunds.order_by().values_list("carrier_id", flat=True))
    return PaymentRequest.objects.alias(ended_at=ENDED_AT).filter(
        usual | Q(pk__in=carriers), handed_out, chain=chain, references=True
    )


def by_merchant(requests: QuerySet[PaymentRequest]) -> dict[UUID, Watching]:
    # Use `created_at`, which is never later than `built_at`. `built_at` changes when a route is built again.
    built = Route.objects.filter(request=OuterRef("pk"), built_at__isnull=False, type=Payment.Type.DIRECT)
    offered_at = Subquery(built.order_by("created_at").values("created_at")[:1])
    # If a refund was not watched for a while, its search starts when the service watches it again.
    watched_from = Subquery(Refund.objects.filter(carrier=OuterRef("pk")).values("watched_from"))
    handed_out_at = Least("link_shown_at", offered_at)
    rows = requests.order_by().annotate(given_out_at=Greatest(handed_out_at, watched_from))
    of_merchant = rows.values_list("merchant_id").annotate(Count("pk"), Min("given_out_at"))
    return {
        merchant_id: Watching(merchant_id, watches, oldest) for merchant_id, watches, oldest in of_merchant
    }


def watched_of(
    requests: QuerySet[PaymentRequest],
    merchant_ids: Collection[UUID],
    *,
    after: UUID | None,
    most: int | None,
) -> list[Watched]:
    """Return the merchants' watched requests by id: those `after` the given id, at most `most`."""
    rows = requests.filter(merchant_id__in=merchant_ids).order_by("pk")
    if after is not None:
        rows = rows.filter(pk__gt=after)
    # Tuples, not models, since there may be very many rows.
    columns = rows.values_list(
        "pk", "merchant_id", "reference", "token__contract_address", "recipient_address"
    )
    return [
        Watched(pk, merchant_id, Watch(bytes(reference), token, recipient))
        for pk, merchant_id, reference, token, recipient in columns[:most]
    ]
