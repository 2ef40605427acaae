"""Refunds from before the migration keep their signers and their watch, and lose the external_id."""

from datetime import timedelta
from importlib import import_module

import pytest
from django.db import connection
from django.utils import timezone

from payments.models import Payment, PaymentRequest, Refund
from payments.refunds import services
from tests.support.portal.refund_rows import WHY, carrier_of, create, fresh, pay

migration = import_module("payments.migrations.0035_refund_address_and_watch")


@pytest.mark.django_db
def test_migration_fills_open_refunds_and_descriptions(paid: PaymentRequest) -> None:
    first = paid.payments.get()
    everything = create(paid, amount=1, recipient_address=None)
    later = pay(paid, 5)
    Payment.objects.filter(pk=later.pk).update(completed_at=timezone.now() + timedelta(minutes=1))
    named = create(paid, amount=2, recipient_address=None, payment_id=first.pk)
    cancelled = create(paid, amount=3, recipient_address=None)
    services.cancel_refund(cancelled, actor=WHY)
    ready = create(paid, amount=4)
    Refund.objects.update(credited_payments=[])
    PaymentRequest.objects.filter(is_refund=True).update(description="Refund of order-7")
    with connection.cursor() as cursor:
        for statement in (migration._CREDITED, migration._WATCHED, migration._DESCRIBED):
            cursor.execute(statement)
    assert fresh(everything).credited_payments == [first.pk]
    assert fresh(named).credited_payments == [first.pk]
    assert fresh(cancelled).credited_payments == []
    watched_until = fresh(ready).watched_until
    assert watched_until is not None
    assert watched_until > timezone.now() + timedelta(days=29)
    assert fresh(everything).watched_until is None
    assert carrier_of(ready).description == f"Refund of {paid.shortcode}"
    assert PaymentRequest.objects.get(pk=paid.pk).description != f"Refund of {paid.shortcode}"
