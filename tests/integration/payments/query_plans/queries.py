"""The query that each index of the large tables serves, and the queries that run as prepared statements.

A new index needs a query here. Without one, it would only make writes slower.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from django.db.models import Max, Min

from config.api.paging import Cut
from merchants.keys import idempotency
from merchants.models import IdempotencyKey
from payments import attention, metrics
from payments.admin import search
from payments.api import shown_payments
from payments.discovery.watches import by_merchant, watched
from payments.models import (
    ConsumedTransfer,
    Payment,
    PaymentRequest,
    Route,
    Transition,
)
from payments.prices import late_payments, values
from payments.proposals.search import PROPOSALS
from payments.requests import lifecycle
from payments.requests.link_limits import counted_requests
from payments.requests.reading import find_any, find_by_shortcode, find_own, list_own
from payments.stats.daily import changed_days, count_day
from payments.verification import leasing
from payments.verification.finality import FINALITY
from tests.integration.payments.query_plans.conftest import Sample
from webhooks import attention as webhook_attention
from webhooks.dispatch.leasing import claim_due
from webhooks.dispatch.redelivery import redeliver_failed
from webhooks.models import Attempt, Delivery, Event
from webhooks.storage import retention
from webhooks.storage.bodies import bodies_of


def newest(rows: Any, time: str = "created_at") -> Any:
    return rows.order_by(f"-{time}", "-id")[:20]


def a_list(at: Sample, conditions: dict[str, Any]) -> list[PaymentRequest]:
    return list_own(at.request.merchant_id, conditions, Cut(backwards=False, edge=None, count=21))


Query = Callable[[Sample], Any]
# Each entry: the index, the feature that needs it, and the query.
REQUESTS: list[tuple[str, str, Query]] = [
    ("payments_paymentrequest_pkey", "get", lambda at: lifecycle.lock_request(at.request.pk)),
    (
        "payments_paymentrequest_reference_key",
        "verification: whose reference is in a transaction",
        lambda at: PaymentRequest.objects.filter(reference__in=[at.request.reference]),
    ),
    (
        "payment_request_shortcode",
        "checkout: by shortcode",
        lambda at: PaymentRequest.objects.filter(shortcode=at.request.shortcode),
    ),
    (
        "payment_request_shortcode",
        "portal: by the beginning of a shortcode",
        lambda at: PaymentRequest.objects.filter(shortcode__startswith=at.request.shortcode[:6]),
    ),
    (
        "payments_paymentrequest_token_id_2a72da9e",
        "portal: requests of a rare token",
        lambda at: newest(PaymentRequest.objects.filter(token=at.rare_token)),
    ),
    ("payment_request_listed", "API: list", lambda at: newest(at.requests)),
    (
        "payment_request_by_status",
        "API: list of a status",
        lambda at: newest(at.requests.filter(status="cancelled")),
    ),
    (
        "payment_request_by_token",
        "API: list of a token",
        lambda at: newest(at.requests.filter(token=at.rare_token)),
    ),
    (
        "payment_request_by_chain",
        "API: list of a chain",
        lambda at: newest(at.requests.filter(chain=at.rare_chain)),
    ),
    (
        "payment_request_simulated",
        "API: list of simulated requests",
        lambda at: newest(at.requests.filter(is_simulated=True)),
    ),
    (
        "payment_request_by_link",
        "API: list of a payment link's requests",
        lambda at: newest(at.requests.filter(payment_link=at.link)),
    ),
    (
        "payment_request_paid_by_link",
        "API: what counts towards a link's limit",
        lambda at: counted_requests([at.link]),
    ),
    (
        "payment_request_by_order",
        "API: list by order number",
        lambda at: newest(at.requests.filter(external_id=at.request.external_id)),
    ),
    (
        "payment_request_by_order",
        "portal: by the beginning of an order number",
        lambda at: PaymentRequest.objects.filter(external_id__startswith="order-123"),
    ),
    ("payment_request_due_for_expiry", "sweep: expire due", lambda at: lifecycle.expire_due(at.now)),
    ("payment_request_created", "portal: requests", lambda at: newest(PaymentRequest.objects.all())),
    (
        "payment_request_created",
        "daily statistics",
        lambda at: count_day((at.now - timedelta(days=9)).date()),
    ),
    (
        "payment_request_created",
        "first day of the statistics",
        lambda at: PaymentRequest.objects.aggregate(oldest=Min("created_at")),
    ),
    ("payment_request_ended", "discovery plan", lambda at: by_merchant(watched(at.rare_chain, at.now))),
    (
        "payment_request_more_came",
        "dashboard: overpaid",
        lambda at: attention.count_requests(PaymentRequest.objects.all(), attention.Matter.OVERPAID, at.now),
    ),
    (
        "payment_request_more_came",
        "dashboard: paid again after a refund",
        lambda at: attention.count_requests(
            PaymentRequest.objects.all(), attention.Matter.AFTER_REFUND, at.now
        ),
    ),
    (
        "payment_request_partly_paid",
        "dashboard: closed with part paid",
        lambda at: attention.count_requests(
            PaymentRequest.objects.all(), attention.Matter.PARTLY_PAID, at.now
        ),
    ),
    (
        "payment_request_undecided",
        "dashboard: paid after the price expired",
        lambda at: attention.count_requests(
            PaymentRequest.objects.all(), attention.Matter.AFTER_PRICE, at.now
        ),
    ),
    (
        "payment_request_mail_due",
        "e-mails about late payments",
        lambda at: late_payments.mail_merchants(now=lambda: at.now),
    ),
    (
        "payment_request_paid_late",
        "dashboard: paid late",
        lambda at: attention.count_requests(PaymentRequest.objects.all(), attention.Matter.PAID_LATE, at.now),
    ),
    (
        "payment_request_recipient",
        "verification: other requests to these wallets",
        lambda at: PaymentRequest.objects.filter(
            chain=at.chain, recipient_address__in=["0x" + "1" * 40, "0x" + "2" * 40]
        ).exists(),
    ),
    (
        "payments_route_request_id_49b90bba",
        "discovery plan: built routes",
        lambda at: Route.objects.filter(request=at.request, built_at__isnull=False),
    ),
    ("payments_route_pkey", "checkout: by route", lambda at: Route.objects.filter(pk="rt_" + "a" * 24)),
]
PAYMENTS: list[tuple[str, str, Query]] = [
    (
        "payments_payment_id_91e48230_like",
        "portal: by the beginning of a payment id",
        lambda at: Payment.objects.filter(pk__startswith=at.payment.pk[:12]),
    ),
    (
        "payment_is_one_per_request_and_transaction",
        "get: a request's payments",
        lambda at: newest(at.request.payments.all()),
    ),
    (
        "payments_payment_chain_id_a5535f23",
        "portal: payments of a rare chain",
        lambda at: newest(Payment.objects.filter(chain=at.rare_chain)),
    ),
    (
        "lookup_due_in_turns",
        "sweep: verify due",
        lambda at: leasing.claim_due(at.now + timedelta(hours=2), at.chain.pk),
    ),
    ("lookup_due", "metrics: what is overdue", lambda at: metrics.payments_overdue(at.now)),
    ("payment_open", "metrics: open payments", lambda at: metrics.open_payments()),
    (
        "payment_unanswered",
        "dashboard: verification stalled",
        lambda at: attention.count_payments(Payment.objects.all(), attention.Matter.UNANSWERED, at.now),
    ),
    ("payment_due_for_value", "sweep: value payments", lambda at: values._claim(at.now + timedelta(hours=2))),
    ("lookup_due_for_proposal", "sweep: proposals", lambda at: PROPOSALS.pick(at.now, 30, at.chain.pk)),
    ("lookup_due_at_finality", "sweep: finality", lambda at: FINALITY.pick(at.now, 100, at.chain.pk)),
    (
        "payment_transaction_hash",
        "discovery: what was recorded already",
        lambda at: Payment.objects.filter(
            chain=at.chain, transaction_hash__in=[at.payment.transaction_hash, "0x" + "0" * 64]
        ),
    ),
    (
        "lookup_delivery_hash",
        "portal: by a swap's delivery",
        lambda at: search._delivered_by([at.payment.transaction_hash]),
    ),
    ("payment_completed", "daily statistics", lambda at: count_day((at.now - timedelta(days=9)).date())),
    (
        "payment_reorged",
        "dashboard: reversed after completion",
        lambda at: attention.count_payments(Payment.objects.all(), attention.Matter.REORGED, at.now),
    ),
    (
        "payment_acceptable",
        "dashboard: can be accepted",
        lambda at: attention.count_payments(Payment.objects.all(), attention.Matter.NOT_BOUND, at.now),
    ),
    ("payment_newest", "portal: payments", lambda at: newest(Payment.objects.all())),
    (
        "payment_sender",
        "portal: by the customer's wallet",
        lambda at: Payment.objects.filter(from_address=at.payment.from_address).order_by("-created_at"),
    ),
    (
        "payment_failed_why",
        "portal: payments that failed for a reason",
        lambda at: newest(Payment.objects.filter(failure_code="transaction_not_bound")),
    ),
    (
        "consumed_transfer_counts_once",
        "submission: is a transaction used already",
        lambda at: ConsumedTransfer.objects.filter(
            chain=at.chain, transaction_hash=at.payment.transaction_hash
        ),
    ),
    (
        "payments_consumedtransfer_payment_id_39475192",
        "verification: what a payment was credited",
        lambda at: at.payment.consumed_transfers.values_list("slot"),
    ),
    (
        "payments_consumedtransfer_pkey",
        "portal: transfers",
        lambda at: ConsumedTransfer.objects.order_by("-id")[:50],
    ),
    ("payments_transition_pkey", "portal: history", lambda at: Transition.objects.order_by("-id")[:50]),
    (
        "payments_transition_request_id_f89367f7",
        "portal: a request's timeline",
        lambda at: Transition.objects.filter(request=at.request).order_by("id")[:500],
    ),
    (
        "transition_of_payment",
        "portal: history of a payment",
        lambda at: Transition.objects.filter(payment=at.payment.pk),
    ),
    (
        "transition_created",
        "daily statistics: changed days",
        lambda at: changed_days(at.now - timedelta(days=40), at.now - timedelta(days=39, hours=23)),
    ),
]
WEBHOOKS: list[tuple[str, str, Query]] = [
    ("webhooks_event_pkey", "API: get an event", lambda at: Event.objects.filter(pk=at.event.pk)),
    (
        "event_newest_first",
        "recording an event: after all others",
        lambda at: Event.objects.filter(merchant=at.merchant).aggregate(newest=Max("created")),
    ),
    (
        "event_newest_first",
        "API: events",
        lambda at: newest(Event.objects.filter(merchant=at.merchant), "created"),
    ),
    (
        "event_newest_of_type",
        "API: events of a type",
        lambda at: newest(Event.objects.filter(merchant=at.merchant, type="payment.failed"), "created"),
    ),
    ("event_newest_of_all", "portal: events", lambda at: newest(Event.objects.all(), "created")),
    ("event_newest_of_all", "sweep: purge", lambda at: retention.purge(at.now, batch=100)),
    (
        "event_tells_of",
        "portal: a payment's events",
        lambda at: Event.objects.filter(dedupe_key__startswith="bench:123", merchant=at.merchant),
    ),
    (
        "webhooks_eventbody_",
        "API: bodies of a page of events",
        lambda at: bodies_of(list(newest(Event.objects.filter(merchant=at.merchant), "created"))),
    ),
    ("webhooks_delivery_pkey", "API: get a delivery", lambda at: Delivery.objects.filter(pk=at.delivery.pk)),
    (
        "webhooks_delivery_event_id_b6f5af91",
        "sweep: purge, and the deliveries of an event",
        lambda at: Delivery.objects.filter(event__in=[at.event.pk]),
    ),
    (
        "delivery_of_test_event",
        "API: deliveries of a test event",
        lambda at: at.deliveries.filter(event=None, public_event_id="evt_1"),
    ),
    ("delivery_due_by_merchant", "sweep: deliver due", lambda at: claim_due(limit=32, now=at.now)),
    ("delivery_due_at_endpoint", "sweep: deliver to endpoints", lambda at: claim_due(limit=32, now=at.now)),
    (
        "delivery_due_at_own_urls",
        "sweep: deliver to requests' own URLs",
        lambda at: claim_due(limit=32, now=at.now),
    ),
    ("delivery_newest_first", "API: deliveries", lambda at: newest(at.deliveries)),
    (
        "delivery_newest_of_status",
        "API: failed deliveries",
        lambda at: newest(at.deliveries.filter(status="failed")),
    ),
    (
        "delivery_newest_of_type",
        "API: deliveries of a type",
        lambda at: newest(at.deliveries.filter(type="payment.expired")),
    ),
    ("delivery_newest_of_all", "portal: deliveries", lambda at: newest(Delivery.objects.all())),
    ("delivery_ended", "daily statistics", lambda at: count_day((at.now - timedelta(days=9)).date())),
    (
        "delivery_given_up",
        "dashboard: given up",
        lambda at: webhook_attention.count_failed(Delivery.objects.all(), at.now),
    ),
    (
        "delivery_given_up",
        "API: send failed deliveries again",
        lambda at: redeliver_failed(at.merchant, at.now - timedelta(days=2), "test"),
    ),
    (
        "webhooks_attempt_",
        "API: attempts of a delivery",
        lambda at: Attempt.objects.filter(delivery=at.delivery),
    ),
    (
        "one_row_per_idempotency_key",
        "create: with an Idempotency-Key",
        lambda at: IdempotencyKey.objects.filter(merchant=at.merchant, key=at.request.external_id),
    ),
    (
        "merchants_idempotencykey_pkey",
        "create: store the answer",
        lambda at: IdempotencyKey.objects.filter(pk=1),
    ),
    (
        "merchants_idempotencykey_expires_at_5d675cef",
        "sweep: purge idempotency keys",
        lambda at: idempotency._purge_batch(at.now + timedelta(minutes=10)),
    ),
]
NAMED = [*REQUESTS, *PAYMENTS, *WEBHOOKS]

PREPARED: list[tuple[str, Query]] = [
    ("get", lambda at: find_own(at.request.merchant_id, at.request.pk)),
    ("public details", lambda at: find_any(at.request.pk)),
    ("checkout", lambda at: find_by_shortcode(at.request.shortcode)),
    ("payments of a request", lambda at: shown_payments._newest_query.rows(request=at.request.pk)),
    *(
        (f"list by {', '.join(given) or 'nothing'}", partial(a_list, conditions=given))
        for given in (
            {},
            {"status": "cancelled"},
            {"external_id": "order-1234"},
            {"token_id": 1},
            {"chain_id": 1},
            {"created_at__gt": datetime(2026, 1, 1, tzinfo=UTC)},
            {"created_at__lt": datetime(2026, 1, 1, tzinfo=UTC)},
            {"status": "cancelled", "created_at__gt": datetime(2026, 1, 1, tzinfo=UTC)},
        )
    ),
]
