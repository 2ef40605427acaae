"""Let staff search webhook events by payment and request. This module can't be in `webhooks`, which must not
import `payments`.
"""

from collections.abc import Iterable

from django.contrib import admin
from django.db.models import Q

from merchants.identifiers import parse_uuid
from payments.admin.search import hashes
from payments.models import Payment, PaymentRequest
from webhooks.admin import DeliveryAdmin, EventAdmin
from webhooks.models import Delivery, Event

_FEW = 50
_HELP = "a payment's id or transaction, or a request's shortcode, order number or id"


def event_keys(text: str) -> Iterable[str]:
    """Return the dedupe keys of the events about an object. `text` is its id, order number or hash."""
    named = Q(external_id=text) | Q(shortcode=text)
    if (own_id := parse_uuid(text)) is not None:
        named |= Q(pk=own_id)
    spellings = hashes(text)
    payments = (
        Payment.objects.filter(transaction_hash__in=spellings)
        if spellings
        else Payment.objects.filter(pk=text)
    )
    requests = {*PaymentRequest.objects.filter(named).values_list("pk", flat=True)[:_FEW]}
    pairs = {*payments.values_list("pk", "request")[:_FEW]}
    if requests:
        pairs |= {*Payment.objects.filter(request__in=requests).values_list("pk", "request")[:_FEW]}
    requests |= {request for _, request in pairs}
    return [*(str(key) for key in requests), *(payment for payment, _ in pairs)]


admin.site.unregister((Event, Delivery))


@admin.register(Event)
class EventOfPaymentAdmin(EventAdmin):
    search_help_text = f"Event id, {_HELP}"

    def about(self, text: str) -> Iterable[str]:
        return event_keys(text)


@admin.register(Delivery)
class DeliveryOfPaymentAdmin(DeliveryAdmin):
    search_help_text = f"Delivery id, event id, {_HELP}"

    def about(self, text: str) -> Iterable[str]:
        return event_keys(text)
