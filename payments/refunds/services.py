"""Create and cancel refunds, set their addresses, and reserve their amounts before they are sent.

Each change first locks the refunded request. So concurrent changes can't refund or reserve more than was paid.
"""

import uuid
from datetime import timedelta

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from chains.amounts import display_amount
from config.api.errors import ApiError, ErrorCode
from payments.models import Payment, PaymentRequest, Refund
from payments.refunds.amounts import Refundable
from payments.refunds.reading import RefundNow, now, refunds_of, with_request
from payments.refunds.watching import keep_watching
from payments.requests.lifecycle import covering_payment, is_held, lock_request
from payments.requests.transitions import insert_request, move_request, note
from payments.requests.watching import tell_watchers
from payments.staging import has_sandbox

# A refund never expires, but its carrier (the payment request that sends it) needs an expiry.
# `payments.refunds.watching` limits the search for the transaction.
_LIFETIME = timedelta(days=3650)
_MAX_REFUNDS = 100
_ADDRESS_FIELDS = ("recipient_address", "address_source", "carrier", "watched_from", "watched_until")


def refundable(request: PaymentRequest) -> Refundable:
    """Return what was paid and what is reserved.

    A payment that a reorganisation removed doesn't count. Without a sandbox, a simulated payment doesn't count.
    """
    paid = request.payments.filter(status=Payment.Status.COMPLETED, reorged=False)
    if not has_sandbox():
        paid = paid.filter(is_simulated=False)
    return Refundable(list(paid.order_by("created_at", "id")), refunds_of(request))


def create_refund(
    request_id: uuid.UUID,
    *,
    amount: int | None,
    recipient_address: str | None,
    payment_id: str | None,
    reason: str | None,
    actor: str,
) -> RefundNow:
    """Create a refund of `amount` base units. If `amount` is None, refund everything that is left.

    Raises ApiError:

    - `payment_request_active`: the request can still be paid. The checkout page would offer the refunded part
      for payment again.
    - `refund_too_large`: the amount is more than can be refunded.
    - `parameter_invalid`: `payment_id` is not a completed payment of the request.
    - `parameter_missing`: several wallets paid. `payment_id` must say whose wallet may set the address.
    """
    with transaction.atomic():
        request = lock_request(request_id)
        _require_ended(request)
        possible = refundable(request)
        payment = _payment(possible, payment_id, has_address=recipient_address is not None)
        left = possible.left_of(payment) if payment else possible.left
        requested = left if amount is None else amount
        if requested > left or requested == 0 or len(possible.refunds) >= _MAX_REFUNDS:
            raise _too_large(request, left, len(possible.refunds))
        refund = Refund(
            merchant=request.merchant,
            request=request,
            payment=payment,
            amount=requested,
            reason=reason,
            credited_payments=[payment.pk] if payment else _credited(request),
            created_by=actor,
        )
        if recipient_address is not None:
            _give_address(refund, recipient_address, Refund.AddressSource.MERCHANT, actor=actor)
        refund.save(force_insert=True)
        PaymentRequest.objects.filter(pk=request.pk, has_refunds=False).update(has_refunds=True)
        tell_watchers(request.pk)
    return now([refund])[0]


def set_address(refund: Refund, address: str, *, actor: str) -> RefundNow:
    """Store the address that the customer signed. Raises ApiError `refund_not_ready` if the refund needs no address."""
    with transaction.atomic():
        locked = _locked(refund)
        if locked.recipient_address or locked.cancelled_at:
            state = "is cancelled" if locked.cancelled_at else "has an address already"
            raise ApiError(ErrorCode.REFUND_NOT_READY, f"This refund {state}.")
        _give_address(locked, address, Refund.AddressSource.CUSTOMER, actor=actor)
        locked.save(update_fields=_ADDRESS_FIELDS)
        tell_watchers(locked.request_id)
    return now([locked])[0]


def change_address(refund: Refund, address: str, *, actor: str) -> RefundNow:
    """Store the address that the merchant sets, and replace an earlier one. Setting the same address again changes
    nothing.

    The carrier for the previous address is cancelled. A new, cancelled refund keeps that carrier, because a wallet
    may still pay to the previous address by an old link. If the search finds such a transfer, less is sent to the new
    address.

    Raises ApiError `refund_not_ready` if a transaction was built or sent, or if the refund is cancelled. Raises
    `refund_too_large` if the request can't have one more refund.
    """
    with transaction.atomic():
        locked = _locked(refund)
        current = now([locked])[0]
        _require_changeable(current)
        if locked.recipient_address == address:
            return current
        if locked.carrier is not None:
            _set_carrier_aside(locked, locked.carrier, actor=actor)
        _give_address(locked, address, Refund.AddressSource.MERCHANT, actor=actor)
        locked.save(update_fields=_ADDRESS_FIELDS)
        tell_watchers(locked.request_id)
    return now([locked])[0]


def cancel_refund(refund: Refund, *, actor: str) -> RefundNow:
    """Cancel the refund if no transaction was sent for it. Cancelling it again changes nothing.

    Raises ApiError `refund_not_cancellable` if the refund is completed or being sent.
    """
    with transaction.atomic():
        locked = _locked(refund)
        current = now([locked])[0]
        if locked.cancelled_at is not None:
            return current
        if current.standing.status == Refund.Status.COMPLETED:
            raise ApiError(ErrorCode.REFUND_NOT_CANCELLABLE, "This refund is completed.")
        moment = timezone.now()
        if locked.carrier is not None:
            if is_held(locked.carrier, moment):
                message = (
                    "The transaction of this refund is in progress. Wait until it has completed or failed."
                )
                raise ApiError(ErrorCode.REFUND_NOT_CANCELLABLE, message)
            move_request(locked.carrier, PaymentRequest.Status.CANCELLED, actor=actor, cancelled_at=moment)
        locked.cancelled_at = moment
        locked.save(update_fields=("cancelled_at",))
        tell_watchers(locked.request_id)
    return now([locked])[0]


def require_buildable(current: RefundNow) -> PaymentRequest:
    """Return the refund's carrier. Raises ApiError if no transaction may be built for it."""
    refund, standing = current.refund, current.standing
    if refund.carrier is None:
        message = "This refund has no address yet. The customer sets one on its claim_url."
        raise ApiError(ErrorCode.REFUND_NOT_READY, message)
    _require_unsent(current)
    if standing.status == Refund.Status.PROCESSING:
        raise in_progress()
    require_left(refund)
    return refund.carrier


def reserve_to_send(carrier: PaymentRequest, *, actor: str) -> None:
    """Reserve the refund's amount before its transaction is returned for signing.

    A failed refund reserves nothing, so another refund may have used its amount. After this call, the refund is
    `ready`. The refund's amount is reserved until a later transaction fails, or until the refund is
    cancelled.

    Raises ApiError and changes nothing if the refund is completed or cancelled, or if its transaction is being
    verified. Raises `refund_too_large` if the refund's amount is not available any more.
    """
    with transaction.atomic():
        refund = _locked(refund_of(carrier))
        if (
            refund.carrier is None or refund.carrier_id != carrier.pk
        ):  # The carrier was replaced before the lock.
            message = "The address of this refund was changed. Build its transaction again."
            raise ApiError(ErrorCode.REFUND_NOT_READY, message)
        carrier = refund.carrier
        current, moment = now([refund])[0], timezone.now()
        _require_unsent(current)
        if covering_payment(carrier, moment):
            raise in_progress()
        require_left(refund)
        # `built_at` must not be earlier than a stored payment. A machine whose clock is ahead may have stored one.
        latest = carrier.payments.aggregate(at=Max("created_at"))["at"] or moment
        unsent = Refund.objects.filter(pk=refund.pk, cancelled_at__isnull=True)
        if unsent.update(built_at=max(moment, latest)) != 1:
            raise RuntimeError(f"refund {refund.pk} changed while it was locked")
        keep_watching(refund)
        if current.standing.status == Refund.Status.FAILED:
            note(carrier, "built again; its amount is reserved", actor=actor)
            tell_watchers(refund.request_id)


def in_progress() -> ApiError:
    message = "A transaction of this refund is being verified. Wait for it before you send another."
    return ApiError(ErrorCode.PAYMENT_IN_PROGRESS, message)


def _require_unsent(current: RefundNow) -> None:
    status = current.standing.status
    if status in (Refund.Status.COMPLETED, Refund.Status.CANCELLED):
        raise ApiError(ErrorCode.REFUND_NOT_READY, f"This refund is {status}. Don't send it.")


def require_left(refund: Refund) -> None:
    """Raise ApiError `refund_too_large` if the other refunds don't leave enough for this one.

    This can happen after a failed refund, because its amount is not reserved, and after a reorganisation.
    """
    left = _left_for(refund)
    if refund.amount > left:
        raise _too_large(refund.request, left, 0)


def refund_of(carrier: PaymentRequest) -> Refund:
    return with_request(Refund.objects.filter(carrier=carrier)).get()


def is_left(carrier: PaymentRequest) -> bool:
    """Whether the other refunds leave enough for this carrier's refund."""
    refund = refund_of(carrier)
    return refund.amount <= _left_for(refund)


def is_reserved(carrier: PaymentRequest) -> bool:
    """Whether the refund's amount is reserved. If so, its transaction can be sent without building it again."""
    return now([refund_of(carrier)])[0].standing.is_open


def _left_for(refund: Refund) -> int:
    """Return how much the refund can still send.

    Deduct the amounts of the other refunds of the same request and payment. Also deduct what was sent to earlier
    addresses of this refund.
    """
    possible = refundable(refund.request).without(refund.pk)
    due = max(refund.amount - possible.taken_by_moved(refund.pk), 0)
    if refund.payment_id is None:
        return min(possible.left, due)
    left = next((possible.left_of(each) for each in possible.payments if each.pk == refund.payment_id), 0)
    return min(left, due)


def _require_ended(request: PaymentRequest) -> None:
    if request.status == PaymentRequest.Status.ACTIVE:
        message = "This payment request is active. Cancel it, then refund what was paid."
        raise ApiError(ErrorCode.PAYMENT_REQUEST_ACTIVE, message)


def _credited(request: PaymentRequest) -> list[str]:
    """Return the ids of the payments that were credited so far.

    Only the wallets that made these payments may set the address.
    """
    credited = request.payments.filter(status=Payment.Status.COMPLETED)
    return list(credited.order_by("created_at", "id").values_list("pk", flat=True))


def is_address_changeable(current: RefundNow) -> bool:
    """The address may change until the refund's transaction was built for a wallet to sign, or money was sent."""
    standing = current.standing
    is_waiting = standing.status in (Refund.Status.REQUIRES_ADDRESS, Refund.Status.READY)
    return is_waiting and current.refund.built_at is None and standing.received == 0


def _require_changeable(current: RefundNow) -> None:
    """Raise ApiError `refund_not_ready` if the refund has ended, or if a wallet may have signed its transaction."""
    standing = current.standing
    if is_address_changeable(current):
        return
    if standing.status in (Refund.Status.COMPLETED, Refund.Status.CANCELLED):
        message = f"This refund is {standing.status}. Its address can't be changed."
    elif standing.status == Refund.Status.PROCESSING:
        message = "A transaction of this refund is being verified. Its address can't be changed."
    else:
        message = (
            "A transaction to this refund's address was already built or sent. To use another address, cancel this "
            "refund and create a new one."
        )
    raise ApiError(ErrorCode.REFUND_NOT_READY, message)


def _set_carrier_aside(refund: Refund, carrier: PaymentRequest, *, actor: str) -> None:
    """Cancel the locked carrier, and move it with its address to a new, cancelled refund.

    The carrier may be cancelled already: in 0.2.0, staff could cancel it alone.
    """
    refunds = Refund.objects.filter(request=refund.request_id).count()
    if refunds >= _MAX_REFUNDS:
        raise _too_large(refund.request, 0, refunds)
    moment = timezone.now()
    reason = f"the address of {refund.pk} was changed"
    cancelled = PaymentRequest.Status.CANCELLED
    if carrier.status != cancelled and not move_request(
        carrier, cancelled, actor=actor, reason=reason, cancelled_at=moment
    ):
        raise RuntimeError(f"the carrier of refund {refund.pk} is {carrier.status}")
    refund.carrier = None
    refund.save(update_fields=("carrier",))
    Refund.objects.create(
        merchant=refund.merchant,
        request=refund.request,
        payment_id=refund.payment_id,
        carrier=carrier,
        moved_to=refund,
        amount=refund.amount,
        recipient_address=refund.recipient_address,
        address_source=refund.address_source,
        reason=refund.reason,
        credited_payments=refund.credited_payments,
        created_by=actor,
        cancelled_at=moment,
        watched_from=refund.watched_from,
        watched_until=refund.watched_until,
    )
    refund.watched_from = refund.watched_until = None


def _payment(possible: Refundable, payment_id: str | None, *, has_address: bool) -> Payment | None:
    if payment_id is None:
        if not has_address and len(possible.payers) > 1:
            message = "Several wallets paid. Set payment_id to the refunded payment, or send an address."
            raise ApiError(ErrorCode.PARAMETER_MISSING, message, "payment_id")
        return None
    for payment in possible.payments:
        if payment.pk == payment_id:
            return payment
    message = f"There is no completed payment {payment_id} of this payment request."
    raise ApiError(ErrorCode.PARAMETER_INVALID, message, "payment_id")


def _too_large(request: PaymentRequest, left: int, refunds: int) -> ApiError:
    if refunds >= _MAX_REFUNDS:
        message = f"This payment request has {refunds} refunds already, which is the maximum."
        return ApiError(ErrorCode.REFUND_TOO_LARGE, message)
    most = f"{display_amount(left, request.token.decimals)} {request.token.symbol}"
    message = f"At most {most} can be refunded now." if left else "Nothing is left to be refunded."
    return ApiError(ErrorCode.REFUND_TOO_LARGE, message, "amount")


def _locked(refund: Refund) -> Refund:
    """Lock the refund's request, its carrier and the refund until the transaction ends.

    A payment of the carrier changes only under the carrier's lock. So the refund's progress can't change meanwhile.
    """
    lock_request(refund.request_id)
    locked = with_request(Refund.objects.filter(pk=refund.pk)).get()
    if locked.carrier_id is not None:
        locked.carrier = lock_request(locked.carrier_id)
    return locked


def _give_address(refund: Refund, address: str, source: Refund.AddressSource, *, actor: str) -> None:
    """Set the address, and create the carrier: the payment request that sends the refund to this address."""
    request, moment = refund.request, timezone.now()
    refund.recipient_address = address
    refund.address_source = source
    carrier = PaymentRequest(
        merchant=request.merchant,
        chain=request.chain,
        token=request.token,
        amount=refund.amount,
        recipient_address=address,
        references=True,
        # The carrier's page is public, so its description must not contain the merchant's external_id.
        description=f"Refund of {request.shortcode}",
        webhook_url=request.webhook_url,
        created_at=moment,
        expires_at=moment + _LIFETIME,
        expiry_check_at=moment + _LIFETIME,
        is_refund=True,
    )
    insert_request(carrier, actor=actor)
    refund.carrier = carrier
