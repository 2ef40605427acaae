"""How many payments may be submitted publicly for one request, so that strangers can't flood the chain's nodes.

The merchant is never capped, nor is what the service finds by itself, nor a transaction that is bound to the request.
"""

from django.db.models import Q

from config.api.errors import ApiError, ErrorCode
from payments.models import FailureCode, Payment, PaymentRequest
from payments.submission.sightings import Sighting

# Open at once for each client address.
MAX_OPEN_PAYMENTS = 5
# Over the request's life, of those that a node has seen and that are not older than the request.
MAX_PUBLIC_PAYMENTS = 30
# Over the request's life, of those that their own bytes bind and that are not in a block: to make one costs nothing.
MAX_PROMISES = 100
# Rows over the request's life, whatever they are.
MAX_PUBLIC_ROWS = 200
_RETRY_SECONDS = 30
_NODE_RETRY_SECONDS = 5

_OPENED_PUBLICLY = Q(submitted_publicly=True) | Q(reopened_publicly=True)


def has_room(request: PaymentRequest, submitter: str) -> bool:
    """Whether this client may open one more payment of the locked request, whatever its transaction is."""
    return (
        _open(request, submitter) < MAX_OPEN_PAYMENTS
        and _counted(request) < MAX_PUBLIC_PAYMENTS
        and _rows(request) < MAX_PUBLIC_ROWS
    )


def may_reopen(request: PaymentRequest, submitter: str) -> bool:
    """Whether this client may have one more payment of the locked request verified again."""
    return _open(request, submitter) < MAX_OPEN_PAYMENTS


def demand_room(request: PaymentRequest, submitter: str, sighting: Sighting) -> None:
    """Raise ApiError unless this client may open a payment of the locked request for the transaction that was seen.

    `too_many_open_payments` beyond 5 open ones of this client, `too_many_payments` beyond 30 or 200 over the request's
    life; `node_unavailable` instead where no node could tell whether the transaction is bound.
    """
    is_exempt = sighting.is_bound and (sighting.is_mined or _promises(request) < MAX_PROMISES)
    if is_exempt or (sighting.is_answered and has_room(request, submitter)):
        return
    if not sighting.is_answered:
        if has_room(request, submitter):
            return
        message = "The network's nodes can't be reached at the moment. Submit the transaction again in a few seconds."
        raise ApiError(ErrorCode.NODE_UNAVAILABLE, message, retry_after=_NODE_RETRY_SECONDS)
    if _rows(request) >= MAX_PUBLIC_ROWS:
        raise _too_many(MAX_PUBLIC_ROWS)
    if sighting.is_older:
        return
    # Nothing can be said of a hash that no node knows, so all of the client's open payments count against it.
    if _open(request, submitter, is_lenient=sighting.is_known) >= MAX_OPEN_PAYMENTS:
        message = (
            f"{MAX_OPEN_PAYMENTS} payments of this request are being verified. Wait until one is finished."
        )
        raise ApiError(ErrorCode.TOO_MANY_OPEN_PAYMENTS, message, retry_after=_RETRY_SECONDS)
    if sighting.is_known and _counted(request) >= MAX_PUBLIC_PAYMENTS:
        raise _too_many(MAX_PUBLIC_PAYMENTS)


def _too_many(limit: int) -> ApiError:
    message = f"{limit} transactions were submitted for this request. Ask the merchant to add yours."
    return ApiError(ErrorCode.TOO_MANY_PAYMENTS, message)


def _open(request: PaymentRequest, submitter: str, *, is_lenient: bool = False) -> int:
    """Return how many open payments this client opened; if `is_lenient` without those that will likely fail."""
    opened = Payment.objects.filter(
        _OPENED_PUBLICLY, request=request, submitter=submitter, status__in=Payment.OPEN
    )
    return (opened.filter(likely_failure="") if is_lenient else opened).count()


def _counted(request: PaymentRequest) -> int:
    """Return how many of the submitted transactions count for good: seen, not older, and not about to fail."""
    seen = Payment.objects.filter(
        request=request, submitted_publicly=True, seen_at__isnull=False, likely_failure=""
    )
    return seen.exclude(failure_code=FailureCode.TRANSACTION_TOO_OLD).count()


def _promises(request: PaymentRequest) -> int:
    """Return how many of the submitted transactions a node has seen, and none in a block."""
    unmined = Payment.objects.filter(request=request, submitted_publicly=True, block_number__isnull=True)
    return unmined.filter(seen_at__isnull=False).count()


def _rows(request: PaymentRequest) -> int:
    return Payment.objects.filter(request=request, submitted_publicly=True).count()
