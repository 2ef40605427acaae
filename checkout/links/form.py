"""Create one payment request for a form, even if the browser sends the form more than once."""

import uuid
from dataclasses import replace

from django.core import signing
from django.db import IntegrityError, transaction
from django.utils import timezone

from chains.switches import require_offered
from merchants.identifiers import uuid7
from payments.links.orders import link_order
from payments.models import PaymentLink, PaymentRequest
from payments.prices.pricing import with_amount
from payments.requests.creation import create_request

_SALT = "payment-link-form"
_ACTOR = "payment link"


def new_form(link: PaymentLink) -> str:
    """Return the hidden value of the form: the signed id of the payment request that it will create."""
    return signing.dumps(str(uuid7()), salt=_SALT + link.pk)


def form_id(link: PaymentLink, value: str) -> uuid.UUID | None:
    """Return the id in a form's hidden value, or None if we didn't sign it."""
    try:
        return uuid.UUID(signing.loads(value, salt=_SALT + link.pk))
    except signing.BadSignature:
        return None


def open_request(
    link: PaymentLink, request_id: uuid.UUID | None, amount: int | None
) -> PaymentRequest | None:
    """Return the request that this form created before, if it is open, unpaid and has the same amount."""
    request = PaymentRequest.objects.filter(pk=request_id, payment_link=link).first() if request_id else None
    if request is None or (amount is not None and request.amount != amount):
        return None
    is_open = request.status == PaymentRequest.Status.ACTIVE and not request.is_past_expiry(timezone.now())
    return request if is_open and request.amount_paid == 0 else None


def create_by_form(link: PaymentLink, request_id: uuid.UUID | None, amount: int | None) -> PaymentRequest:
    """Create a payment request with this id. If the id is taken, the form was sent before.

    In that case, return the earlier request if it can still be paid, or create a request with a new id.

    Raises ApiError: `link_inactive`, `recipient_not_allowed`, `address_invalid`, `rate_unavailable` or
    `service_unavailable`.
    """
    require_offered(link.token)
    order = with_amount(link_order(link, amount))
    try:
        with transaction.atomic():
            return create_request(link.merchant, replace(order, id=request_id), actor=_ACTOR)
    except IntegrityError:
        # A request with this id exists, because the form was sent before.
        earlier = open_request(link, request_id, amount)
        if earlier is not None:
            return earlier
    return create_request(link.merchant, order, actor=_ACTOR)
