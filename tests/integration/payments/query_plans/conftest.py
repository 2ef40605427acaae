"""A database of 60,000 requests with payments, events and deliveries. Some kinds of rows are rare."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection, transaction
from django.db.models import Count
from django.utils import timezone

from bench.admin_data import Size, generate
from chains.models import Chain, Token
from merchants.models import Merchant
from payments.models import (
    Payment,
    PaymentLink,
    PaymentRequest,
)
from webhooks.models import Delivery, Event

SIZE = Size(requests=60_000, deliveries=60_000, merchants=100, keys=100, days=360, event_days=60)
_ROUTES = """
    INSERT INTO payments_route
        (id, request_id, type, wallet_address, chain_id, token_id, amount, created_at, expires_at, proof_message)
    SELECT 'rt_' || substr(md5(shortcode), 1, 24), id, 'direct', '', chain_id, token_id, amount, created_at, expires_at,
        '' FROM payments_paymentrequest
"""
_KEYS = """
    INSERT INTO merchants_idempotencykey (merchant_id, key, fingerprint, status, body, expires_at)
    SELECT merchant_id, external_id, '', 201, '', now() + row_number() OVER () * interval '10 seconds'
    FROM payments_paymentrequest
"""
# A few rows need attention or are due.
_RARE = (
    # One chain has only one token, which few requests use.
    "CREATE TEMPORARY TABLE rare ON COMMIT DROP AS SELECT chain_id, token_id FROM payments_paymentrequest"
    " GROUP BY 1, 2 ORDER BY count(*) LIMIT 1",
    "CREATE TEMPORARY TABLE common ON COMMIT DROP AS SELECT chain_id, token_id FROM payments_paymentrequest"
    " GROUP BY 1, 2 ORDER BY count(*) DESC LIMIT 1",
    "UPDATE payments_paymentrequest SET chain_id = common.chain_id, token_id = common.token_id FROM common, rare"
    " WHERE payments_paymentrequest.chain_id = rare.chain_id AND (payments_paymentrequest.token_id <> rare.token_id"
    " OR hashtext(id::text) % 32 <> 0)",
    "UPDATE payments_payment SET chain_id = request.chain_id FROM payments_paymentrequest AS request"
    " WHERE request.id = request_id AND request.chain_id <> payments_payment.chain_id",
    "UPDATE payments_lookup SET chain_id = payment.chain_id FROM payments_payment AS payment"
    " WHERE payment.id = of_payment_id AND payment.chain_id <> payments_lookup.chain_id",
    "UPDATE payments_route SET built_at = created_at WHERE hashtext(id) % 3 = 0",
    "INSERT INTO payments_swap (payment_id, provider, provider_status, provider_url, polls, attempts, next_poll_at)"
    " SELECT id, 'lifi', '', '', 0, 0, CASE WHEN status = 'processing' THEN now() END FROM payments_payment"
    " WHERE hashtext(id) % 50 = 0",
    "INSERT INTO payments_lookup (of_swap_id, chain_id, merchant_id, transaction_hash, is_simulated, finality_misses,"
    " attempts, block_hash, confirmations) SELECT of_payment_id, chain_id, merchant_id, 'x' || transaction_hash, false,"
    " 0, 0, '', 0 FROM payments_lookup JOIN payments_swap ON payment_id = of_payment_id",
    "UPDATE payments_lookup SET proposal_check_at = now() WHERE hashtext(transaction_hash) % 500 = 2",
    "UPDATE payments_lookup SET finality_check_at = now() WHERE hashtext(transaction_hash) % 500 = 1",
    "UPDATE payments_paymentrequest SET is_simulated = TRUE WHERE hashtext(id::text) % 500 = 2",
    "INSERT INTO payments_paymentlink (id, merchant_id, code, name, is_active, chain_id, token_id, recipient_address,"
    " amount, metadata, requests_count, created_at, created_by) SELECT 'pl_1', merchant_id, 'code', 'Donations', true,"
    " chain_id, token_id, '0x2', 1, '{}', 0, now(), '' FROM payments_paymentrequest LIMIT 1",
    "UPDATE payments_paymentrequest SET payment_link_id = 'pl_1' WHERE hashtext(id::text) % 100 = 4",
    "UPDATE payments_payment SET reorged = TRUE WHERE hashtext(id) % 500 = 3 AND completed_at IS NOT NULL",
    "UPDATE webhooks_delivery SET url_override = 'https://shop.example/own' WHERE status = 'pending'"
    " AND hashtext(id) % 2 = 0",
    "UPDATE webhooks_delivery SET due_at = now() WHERE status = 'pending'",
)


class Sample:
    """The filled database, with a typical merchant and a typical row of each kind."""

    def __init__(self) -> None:
        self.now = timezone.now()
        self.merchant = Merchant.objects.get(name="Merchant 0020")
        paid = Payment.objects.filter(status="completed", request__merchant=self.merchant)
        self.payment = paid.select_related("request__token").order_by("pk")[50]
        self.request = self.payment.request
        self.event = Event.objects.filter(merchant=self.merchant).order_by("pk")[10]
        self.delivery = Delivery.objects.filter(event=self.event).get()
        self.chain = Chain.objects.get(pk=self.request.chain_id)
        rarest = PaymentRequest.objects.values("token").annotate(requests=Count("pk")).order_by("requests")
        self.rare_token = Token.objects.select_related("chain").get(pk=rarest[0]["token"])
        self.rare_chain = self.rare_token.chain
        self.requests = PaymentRequest.objects.filter(merchant=self.merchant)
        self.link = PaymentLink.objects.get()
        self.deliveries = Delivery.objects.filter(merchant=self.merchant)


@pytest.fixture(scope="module")
def sample(django_db_setup: None, django_db_blocker: Any) -> Iterator[Sample]:
    """The filled database, which is rolled back at the end."""
    with django_db_blocker.unblock(), transaction.atomic():
        generate(SIZE, lambda _: None, vacuum=False)
        with connection.cursor() as cursor:
            for statement in (_ROUTES, _KEYS, *_RARE, "ANALYZE"):
                cursor.execute(statement)
        # Check once here. Otherwise each test would check the foreign keys of all rows at its end.
        connection.check_constraints()
        yield Sample()
        transaction.set_rollback(True)
