"""Decide whether a payment link accepts another payment request, and count its paid requests.

`max_payments` limits the link's requests that are completed, or active and partly paid. A completed request counts
even if it is refunded later. An open, unpaid request doesn't count: otherwise visitors could use up a link without
paying.

So if the limit allows one more payment, two customers can still both pay. Both payments are credited, and the portal
shows the second one under "Needs attention" (`payments.attention`).
"""

import uuid
from collections.abc import Collection
from datetime import datetime
from enum import StrEnum

from django.db.models import Count, F, Q, QuerySet

from chains.lookup import find_chain, find_token
from config.api.errors import ApiError, ErrorCode
from config.api.serializers import required_timestamp
from merchants.recipients import recipient_problem
from payments.models import PaymentLink, PaymentRequest

Status = PaymentRequest.Status

_MAX_LINKS = 1000

COUNTED = Q(amount_paid__gt=0) & (
    Q(status=Status.COMPLETED) | Q(status=Status.ACTIVE, amount_paid__gt=F("amount_reorged"))
)
"""The requests that `max_payments` limits."""


class Reason(StrEnum):
    """Why a link accepts no payments."""

    INACTIVE = "inactive"
    EXPIRED = "expired"
    USED_UP = "used_up"
    UNAVAILABLE = "unavailable"
    """Its token or its chain is no longer active in the catalogue."""
    RECIPIENT = "recipient"
    """Its recipient is not one of the merchant's allowed recipients."""


def counted_requests(links: Collection[PaymentLink]) -> QuerySet[PaymentRequest]:
    """Return the requests that count towards these links' limits."""
    return PaymentRequest.objects.filter(COUNTED, payment_link__in=links)


def payments_counts(links: Collection[PaymentLink]) -> dict[str, int]:
    """Return how many requests count for each link, by the link's id. Makes one query."""
    counts = dict.fromkeys((link.pk for link in links), 0)
    rows = counted_requests(links).order_by().values_list("payment_link").annotate(number=Count("pk"))
    return counts | {str(link_id): number for link_id, number in rows}


def paid_beyond_limit(requests: QuerySet[PaymentRequest]) -> list[uuid.UUID]:
    """Return completed requests that exceed their link's limit: the newest ones of each link.

    It reads the links of the newest of these requests that are completed. So unpaid requests hide nothing.
    """
    completed = requests.filter(
        status=Status.COMPLETED,
        payment_link__max_payments__isnull=False,
        payment_link__requests_count__gt=F("payment_link__max_payments"),
    )
    newest = completed.order_by("-completed_at").values_list("payment_link", flat=True)[:_MAX_LINKS]
    links = list(PaymentLink.objects.filter(pk__in=set(newest)))
    counts = payments_counts(links)
    beyond: list[uuid.UUID] = []
    for link in links:
        number = counts[link.pk] - (link.max_payments or 0)
        if number > 0:
            of_link = counted_requests([link]).filter(status=Status.COMPLETED)
            beyond += of_link.order_by("-completed_at", "-id").values_list("pk", flat=True)[:number]
    return beyond


def why_closed(link: PaymentLink, now: datetime) -> Reason | None:
    """Return why the link accepts no payments now, or None."""
    if not link.is_active:
        return Reason.INACTIVE
    if link.expires_at is not None and now >= link.expires_at:
        return Reason.EXPIRED
    if find_token(link.token_id) is None or find_chain(link.chain_id) is None:
        return Reason.UNAVAILABLE
    return Reason.USED_UP if _is_used_up(link) else None


def why_page_closed(link: PaymentLink, now: datetime) -> Reason | None:
    """Return why the link's page accepts no payments now, or None. Also checks the recipient.

    The API checks the recipient separately, because its error for it is `recipient_not_allowed`.
    """
    reason = why_closed(link, now)
    if reason is None and recipient_problem(link.merchant, link.chain.chain_type, link.recipient_address):
        return Reason.RECIPIENT
    return reason


def _is_used_up(link: PaymentLink) -> bool:
    if link.max_payments is None:
        return False
    last_place = link.max_payments - 1
    return counted_requests([link]).order_by()[last_place : last_place + 1].exists()


def use_link(link: PaymentLink, now: datetime) -> None:
    """Count a new request of the link. If this raises ApiError `link_inactive`, the caller must roll back.

    The lock on the row lasts until the caller's transaction ends. So a link that was made inactive gets no more
    requests.
    """
    PaymentLink.objects.filter(pk=link.pk).update(requests_count=F("requests_count") + 1)
    current = PaymentLink.objects.get(pk=link.pk)
    reason = why_closed(current, now)
    if reason is not None:
        raise link_inactive(current, reason)


def link_inactive(link: PaymentLink, reason: Reason) -> ApiError:
    return ApiError(ErrorCode.LINK_INACTIVE, _message(link, reason), "payment_link")


def _message(link: PaymentLink, reason: Reason) -> str:
    match reason:
        case Reason.INACTIVE:
            return "This payment link is inactive. Set is_active to true to take payments again."
        case Reason.EXPIRED:
            end = required_timestamp(link.expires_at) if link.expires_at else ""
            return f"This payment link expired at {end}. Create a new one."
        case Reason.USED_UP:
            return (
                f"This payment link has reached its limit of {link.max_payments} payments. Create a new one."
            )
        case Reason.UNAVAILABLE:
            return "The token of this payment link is no longer active. Create a link for another token."
        case Reason.RECIPIENT:
            return "The recipient of this payment link is not allowed. Create a link for an allowed one."
