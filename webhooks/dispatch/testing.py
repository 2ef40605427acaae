"""Send the test event of `POST /api/webhooks/test` once, immediately. The test event is stored as a delivery without an
event.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from chains.api.objects import AmountObject
from config.api.answers import builtins
from config.api.errors import ApiError, ErrorCode
from config.api.limits.waiting import Busy
from merchants.identifiers import prefixed_id
from merchants.models import Merchant
from webhooks.dispatch.delivery import send_signed
from webhooks.dispatch.http_client import Answer
from webhooks.endpoints.configuration import signing_secrets
from webhooks.event_object import EventObject, EventToken
from webhooks.event_types import ABOUT, EventType
from webhooks.events import envelope
from webhooks.models import Attempt, Delivery, Endpoint

_DECIMALS = 6
_REQUESTED = 25_000_000  # 25 units of a stablecoin with 6 decimals


@dataclass(frozen=True)
class SentTestEvent:
    endpoint: Endpoint
    event_id: str
    type: EventType
    body: bytes
    started: datetime
    finished: datetime
    answer: Answer


def send_test_event(merchant: Merchant, type_: EventType) -> SentTestEvent:
    """Send a test event of `type_` to the merchant's URL, even if the endpoint is disabled.

    Call `record_test_event` afterwards to store the result. Raises ApiError. `webhook_not_configured`: there is no URL.
    `service_unavailable`: too many test events are being sent.
    """
    endpoint = Endpoint.objects.filter(merchant=merchant, url__isnull=False).first()
    if endpoint is None or endpoint.url is None:
        message = "No webhook URL is set. Set one with PUT /api/webhooks."
        raise ApiError(ErrorCode.WEBHOOK_NOT_CONFIGURED, message)
    started = timezone.now()
    event_id = prefixed_id("evt_")
    body = envelope(event_id, type_.value, started, example_object(type_))
    secrets = signing_secrets(endpoint, started)
    try:
        answer = send_signed(
            url=endpoint.url, body=body, secrets=secrets, event_id=event_id, type_=type_.value, now=started
        )
    except Busy as error:
        message = (
            "Too many test events wait for their receivers. Nothing was sent. Try again in a few seconds."
        )
        raise ApiError(ErrorCode.SERVICE_UNAVAILABLE, message) from error
    return SentTestEvent(endpoint, event_id, type_, body, started, timezone.now(), answer)


def record_test_event(sent: SentTestEvent) -> Delivery:
    """Store the test event as a delivery with one attempt. The merchant sees it in the list of deliveries."""
    answer = sent.answer
    with transaction.atomic():
        delivery = Delivery.objects.create(
            merchant_id=sent.endpoint.merchant_id,
            public_event_id=sent.event_id,
            type=sent.type.value,
            own_body=sent.body,
            is_test=True,
            status=Delivery.Status.DELIVERED if answer.is_success else Delivery.Status.FAILED,
            attempts=1,
            created_at=sent.started,
            finished_at=sent.finished,
        )
        Attempt.objects.create(
            delivery=delivery,
            number=1,
            url=sent.endpoint.url or "",
            started_at=sent.started,
            duration_ms=answer.duration_ms,
            status_code=answer.status_code,
            error=answer.error,
            response_excerpt=answer.excerpt,
        )
    return delivery


def example_object(type_: EventType) -> dict[str, Any]:
    """Return an example of the `data.object` of an event of `type_`, marked as a test."""
    about = ABOUT[type_]
    paid = _REQUESTED * about.paid_percent // 100
    amount = paid or _REQUESTED
    sample = EventObject(
        id="pay_" + "1" * 24,
        amount=amount,
        currency="USDC",
        status=type_.status,
        reference="test-order",
        test=True,
        payment_request="00000000-0000-7000-8000-000000000000",
        shortcode="222222222222",
        token=EventToken(
            id=1,
            symbol="USDC",
            decimals=_DECIMALS,
            contract_address="0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
        ),
        chain_id=8453,
        transaction_hash="0x" + "0" * 64,
        type="direct",
        source_chain_id=8453,
        destination_transaction_hash="0x" + "0" * 64 if paid else None,
        amount_details=AmountObject.of(amount, _DECIMALS),
        request_amount=AmountObject.of(_REQUESTED, _DECIMALS),
        amount_paid=AmountObject.of(paid, _DECIMALS),
        amount_remaining=AmountObject.of(max(_REQUESTED - paid, 0), _DECIMALS),
        amount_overpaid=AmountObject.of(max(paid - _REQUESTED, 0), _DECIMALS),
        amount_refunded=AmountObject.of(0, _DECIMALS),
        amount_refund_open=AmountObject.of(0, _DECIMALS),
        request_status=about.request_status,
        metadata={},
        payment_link=None,
        is_simulated=True,
    )
    if type_ in (EventType.REFUND_COMPLETED, EventType.REFUND_FAILED):
        _make_refund(sample)
    if type_ == EventType.PAYMENT_REORGED:
        sample.reorged = True
    if type_ in (EventType.PAYMENT_FAILED, EventType.REFUND_FAILED):
        sample.failure_code = "transaction_reverted"
        sample.failure_message = "The transaction was reverted."
    return builtins(sample)


def _make_refund(sample: EventObject) -> None:
    """Add the fields of refund events."""
    moment = "2026-01-01T00:00:00.000000Z"
    sample.id = "rf_" + "1" * 24
    sample.object = "refund"
    sample.payment_id = None
    sample.recipient_address = "0x8ba1f109551bD432803012645Ac136ddd64DBA72"
    sample.address_source = "merchant"
    sample.reason = None
    sample.refund_url = f"{settings.CHECKOUT_URL}/pay/222222222222"
    sample.claim_url = f"{settings.CHECKOUT_URL}/refunds/222222222222"
    sample.explorer_url = None
    sample.confirmations = 1
    sample.failure_code = sample.failure_message = None
    sample.created_at = moment
    sample.completed_at = moment if sample.status == EventType.REFUND_COMPLETED.status else None
