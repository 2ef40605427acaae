"""Fill the new columns for what exists, and index the requests that wait for a decision, beside the running service.

Built without a time limit: if interrupted, the indexes have to be removed by hand.
"""

from django.contrib.postgres.operations import AddConstraintNotValid, AddIndexConcurrently, ValidateConstraint
from django.db import migrations, models
from django.db.models import F, Q

from chains.fields import base_units_constraint

_AMOUNT = base_units_constraint("amount_reorged", "payment_request")
# Few payments are reorganised, and an index finds them.
_FILL_REORGED = """
    UPDATE payments_paymentrequest AS request SET amount_reorged = lost.total
    FROM (
        SELECT request_id, sum(amount_received) AS total FROM payments_payment
        WHERE reorged AND status = 'completed' GROUP BY request_id
    ) AS lost
    WHERE request.id = lost.request_id AND NOT request.is_refund
"""
# The index that is made just before finds these requests.
_FILL_AFTER_PRICE = """
    UPDATE payments_payment AS payment SET after_price = true
    FROM payments_paymentrequest AS request
    WHERE request.status IN ('active', 'expired') AND request.amount_paid >= request.amount
        AND request.price IS NOT NULL
        AND payment.request_id = request.id AND payment.status = 'completed' AND payment.accepted_by = ''
        AND coalesce(payment.destination_block_time, payment.first_block_time, payment.block_time)
            > request.expires_at + interval '120 seconds'
"""


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("payments", "0033_net_of_refunds")]

    operations = [
        migrations.RunSQL("SET statement_timeout = 0; SET lock_timeout = 0", migrations.RunSQL.noop),
        AddConstraintNotValid("paymentrequest", _AMOUNT),
        ValidateConstraint("paymentrequest", _AMOUNT.name),
        AddIndexConcurrently(
            "paymentrequest",
            models.Index(
                fields=["-expires_at"],
                condition=Q(status__in=("active", "expired"), amount_paid__gte=F("amount")),
                name="payment_request_undecided",
            ),
        ),
        AddIndexConcurrently(
            "paymentrequest",
            models.Index(
                fields=["late_price_mail_at"],
                condition=Q(late_price_mail_at__isnull=False),
                name="payment_request_mail_due",
            ),
        ),
        migrations.RunSQL(_FILL_REORGED, migrations.RunSQL.noop),
        migrations.RunSQL(_FILL_AFTER_PRICE, migrations.RunSQL.noop),
        migrations.RunSQL("RESET statement_timeout; RESET lock_timeout", migrations.RunSQL.noop),
    ]
