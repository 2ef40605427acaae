"""Limit public submissions for a request, which protects the nodes from floods.

There is no limit for the merchant's submissions, and for transactions that are bound to the request. Transactions that
discovery found count only if no node can read them.
"""

from django.db.models import Q

from config.api.errors import ApiError, ErrorCode
from payments.models import FailureCode, Payment, PaymentRequest
from payments.submission.sightings import Sighting

# The maximum number of open payments per client address.
MAX_OPEN_PAYMENTS = 5
# In a request's lifetime: the maximum number of payments that a node has seen and that aren't older than the request.
MAX_PUBLIC_PAYMENTS = 30
# In a request's lifetime: the maximum number of bound payments that are not mined. Signing a transaction
# costs nothing.
MAX_UNMINED_PAYMENTS = 100
# In a request's lifetime: the maximum number of publicly submitted payments.
MAX_PUBLIC_ROWS = 200
# The maximum number of a request's proposals that are searched for at one time. Proposals are not open
# payments.
MAX_PROPOSALS = 3
_RETRY_SECONDS = 30
_NODE_RETRY_SECONDS = 5

_OPENED_PUBLICLY = Q(submitted_publicly=True) | Q(reopened_publicly=True)


def has_room(request: PaymentRequest, submitter: str) -> bool:
    """Whether this client may open another payment, for any transaction. The request must be locked."""
    return (
        _open(request, submitter) < MAX_OPEN_PAYMENTS
        and _counted(request) < MAX_PUBLIC_PAYMENTS
        and _rows(request) < MAX_PUBLIC_ROWS
    )


def may_reopen(request: PaymentRequest, submitter: str) -> bool:
    """Whether this client may reopen another payment. The request must be locked."""
    return _open(request, submitter) < MAX_OPEN_PAYMENTS


def require_room(request: PaymentRequest, submitter: str, sighting: Sighting) -> None:
    """Raise ApiError if this client may not open a payment for this transaction. The request must be locked.

    - `too_many_open_payments`: this client has 5 open payments.
    - `too_many_payments`: the request has reached `MAX_PUBLIC_PAYMENTS` or `MAX_PUBLIC_ROWS`.
    - `node_unavailable`: no node could show whether the transaction is bound.
    """
    is_exempt = sighting.is_bound and (sighting.is_mined or _unmined(request) < MAX_UNMINED_PAYMENTS)
    if is_exempt or (sighting.is_answered and has_room(request, submitter)):
        return
    if not sighting.is_answered:
        if has_room(request, submitter):
            return
        message = "The network's nodes can't be reached at the moment. Submit the transaction again in a few seconds."
        raise ApiError(ErrorCode.NODE_UNAVAILABLE, message, retry_after=_NODE_RETRY_SECONDS)
    if _rows(request) >= MAX_PUBLIC_ROWS:
        raise _too_many(request, MAX_PUBLIC_ROWS)
    if sighting.is_older:
        return
    # For a hash that no node knows, all open payments of the client count. For a known transaction, unknown hashes
    # don't count: otherwise, a stranger with the customer's IP address could block the known transaction with
    # five unknown hashes.
    if _open(request, submitter, is_lenient=sighting.is_known) >= MAX_OPEN_PAYMENTS:
        message = (
            f"{MAX_OPEN_PAYMENTS} payments for this request are being verified. Wait until one is finished."
            if not request.is_refund
            else f"{MAX_OPEN_PAYMENTS} transactions of this refund are being verified. Wait until one is finished."
        )
        raise ApiError(ErrorCode.TOO_MANY_OPEN_PAYMENTS, message, retry_after=_RETRY_SECONDS)
    if sighting.is_known and _counted(request) >= MAX_PUBLIC_PAYMENTS:
        raise _too_many(request, MAX_PUBLIC_PAYMENTS)


def has_room_for_proposal(request: PaymentRequest) -> bool:
    """Whether the request may have another proposal to search for."""
    awaited = Payment.objects.filter(
        request=request, status__in=Payment.OPEN, lookup__proposal_check_at__isnull=False
    )
    return awaited.count() < MAX_PROPOSALS and _rows(request) < MAX_PUBLIC_ROWS


def require_room_for_proposal(request: PaymentRequest) -> None:
    """Raise ApiError if the request may not have another proposal to search for. The request must be locked.

    The code is `too_many_open_payments` if 3 proposals are already searched for. The code is `too_many_payments`
    after 200 payments in the request's lifetime.
    """
    if has_room_for_proposal(request):
        return
    if _rows(request) >= MAX_PUBLIC_ROWS:
        raise _too_many(request, MAX_PUBLIC_ROWS)
    message = (
        f"{MAX_PROPOSALS} transactions of this request wait for other signers. Submit the transaction's hash once it "
        "is executed."
    )
    raise ApiError(ErrorCode.TOO_MANY_OPEN_PAYMENTS, message, retry_after=_RETRY_SECONDS)


def _too_many(request: PaymentRequest, limit: int) -> ApiError:
    message = f"{limit} transactions were submitted for this request. Ask the merchant to add yours."
    if request.is_refund:
        message = f"{limit} transactions were submitted for this refund. Submit yours with your API key."
    return ApiError(ErrorCode.TOO_MANY_PAYMENTS, message)


def _open(request: PaymentRequest, submitter: str, *, is_lenient: bool = False) -> int:
    """Return how many open payments this client has opened.

    With `is_lenient`, two kinds are left out: payments that will probably fail, and payments whose transaction no
    node has seen.
    """
    opened = Payment.objects.filter(
        _OPENED_PUBLICLY,
        request=request,
        submitter=submitter,
        status__in=Payment.OPEN,
        lookup__proposal_check_at__isnull=True,
    )
    if is_lenient:
        opened = opened.filter(likely_failure="", lookup__seen_at__isnull=False)
    return opened.count()


def _counted(request: PaymentRequest) -> int:
    """Return how many submitted payments were seen by a node, are not too old, and will probably not fail."""
    seen = Payment.objects.filter(
        request=request, submitted_publicly=True, lookup__seen_at__isnull=False, likely_failure=""
    )
    return seen.exclude(failure_code=FailureCode.TRANSACTION_TOO_OLD).count()


def _unmined(request: PaymentRequest) -> int:
    """Return how many submitted transactions were seen by a node, but are in no block."""
    unmined = Payment.objects.filter(
        request=request, submitted_publicly=True, lookup__block_number__isnull=True
    )
    return unmined.filter(lookup__seen_at__isnull=False).count()


def _rows(request: PaymentRequest) -> int:
    return Payment.objects.filter(request=request, submitted_publicly=True).count()
