"""Create and cancel refunds, set their addresses, and reserve their amounts before they are sent.

Each change locks the refunded request first, so concurrent changes never refund or reserve more than was paid.
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

# A refund does not expire: it is cancelled, or sent. `payments.refunds.watching` limits the search for its transaction.
_LIFETIME = timedelta(days=3650)
_MAX_REFUNDS = 100
_ADDRESS_FIELDS = ("recipient_address", "address_source", "carrier", "watched_from", "watched_until")


def refundable(request: PaymentRequest) -> Refundable:
    """Return the paid and the reserved amounts; payments removed by a reorganisation don't count."""
    paid = request.payments.filter(status=Payment.Status.COMPLETED, reorged=False)
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
    """Create a refund of `amount` base units, by default of everything that is left.

    Raises ApiError:

    - `payment_request_active`: the request can still be paid, so its page would request the refunded part again.
    - `refund_too_large`: the amount exceeds what can be refunded.
    - `parameter_invalid`: `payment_id` is not a completed payment of the request.
    - `parameter_missing`: several wallets paid, and only `payment_id` identifies the one that may set the address.
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
    """Store the address that the customer signed for. Raises ApiError `refund_not_ready` if it needs none."""
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
    """Store the merchant's address, which may replace an earlier one; an unchanged address has no effect.

    The carrier of the previous address is cancelled and kept with a cancelled refund of its own. A wallet may
    still send by an old wallet link. The search finds that transfer, and its amount is no longer sent to the
    new address.

    Raises ApiError `refund_not_ready` once a transaction was built or sent, and for a cancelled refund;
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
    """Cancel the refund while no transaction was sent for it. Cancelling again changes nothing.

    Raises ApiError `refund_not_cancellable` if it is completed or being sent.
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
    """Return the refund's carrier if a transaction may be built for it, else raise ApiError."""
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
    """Reserve the amount of the carrier's refund before its transaction is returned to be signed.

    A failed refund reserves nothing, so another refund may have used its amount. After this call, the refund is `ready`
    and reserves its amount until a later transaction fails, or the refund is cancelled.

    Raises ApiError, and changes nothing, if the refund is completed or cancelled, if its transaction is being
    verified, or if its amount is no longer left (`refund_too_large`).
    """
    with transaction.atomic():
        refund = _locked(refund_of(carrier))
        if (
            refund.carrier is None or refund.carrier_id != carrier.pk
        ):  # The carrier was changed before the lock.
            message = "The address of this refund was changed. Build its transaction again."
            raise ApiError(ErrorCode.REFUND_NOT_READY, message)
        carrier = refund.carrier
        current, moment = now([refund])[0], timezone.now()
        _require_unsent(current)
        if covering_payment(carrier, moment):
            raise in_progress()
        require_left(refund)
        # A machine whose clock is ahead may have stored an earlier submission. It must still count as earlier.
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
    """Raise ApiError `refund_too_large` unless all other refunds leave enough for this one.

    A failed refund no longer reserves its amount, and a reorganised payment no longer counts.
    """
    left = _left_for(refund)
    if refund.amount > left:
        raise _too_large(refund.request, left, 0)


def refund_of(carrier: PaymentRequest) -> Refund:
    return with_request(Refund.objects.filter(carrier=carrier)).get()


def is_left(carrier: PaymentRequest) -> bool:
    """Whether all other refunds leave enough for the refund of this carrier."""
    refund = refund_of(carrier)
    return refund.amount <= _left_for(refund)


def is_reserved(carrier: PaymentRequest) -> bool:
    """Whether the amount of the carrier's refund is reserved, so that it may be sent without another build."""
    return now([refund_of(carrier)])[0].standing.is_open


def _left_for(refund: Refund) -> int:
    """Return how much the refund can still send, after all other refunds of its request and of its payment.

    Amounts sent to an earlier address of the refund count as a part of it.
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
    """Return the ids of the payments credited so far. Only the wallets that made them may set the address."""
    credited = request.payments.filter(status=Payment.Status.COMPLETED)
    return list(credited.order_by("created_at", "id").values_list("pk", flat=True))


def is_address_changeable(current: RefundNow) -> bool:
    """Whether the address may change: no transaction was returned to a wallet, and none was sent."""
    standing = current.standing
    is_waiting = standing.status in (Refund.Status.REQUIRES_ADDRESS, Refund.Status.READY)
    return is_waiting and current.refund.built_at is None and standing.received == 0


def _require_changeable(current: RefundNow) -> None:
    """Raise ApiError `refund_not_ready` if a wallet may have signed for the address, or the refund has ended."""
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
    """Cancel the locked carrier, and create a cancelled refund that keeps it and its address."""
    refunds = Refund.objects.filter(request=refund.request_id).count()
    if refunds >= _MAX_REFUNDS:
        raise _too_large(refund.request, 0, refunds)
    moment = timezone.now()
    reason = f"the address of {refund.pk} was changed"
    if not move_request(
        carrier, PaymentRequest.Status.CANCELLED, actor=actor, reason=reason, cancelled_at=moment
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
    """Return the refund, locked with its request and its carrier until the transaction ends.

    Payments of the carrier change only under the carrier's lock, so the refund's standing is stable.
    """
    lock_request(refund.request_id)
    locked = with_request(Refund.objects.filter(pk=refund.pk)).get()
    if locked.carrier_id is not None:
        locked.carrier = lock_request(locked.carrier_id)
    return locked


def _give_address(refund: Refund, address: str, source: Refund.AddressSource, *, actor: str) -> None:
    """Set the address, and create the carrier: the request that sends the refund to it."""
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
        # The carrier's page is public, so the description must not contain the merchant's external_id.
        description=f"Refund of {request.shortcode}",
        webhook_url=request.webhook_url,
        created_at=moment,
        expires_at=moment + _LIFETIME,
        expiry_check_at=moment + _LIFETIME,
        is_refund=True,
    )
    insert_request(carrier, actor=actor)
    refund.carrier = carrier
