"""Who may name a refund's address, who created it, and until when the chain is searched for its transaction.

The columns have defaults of the database or may be null, so the table is not rewritten. Open refunds keep what they had:
the wallets that paid before they were created may sign, and their transactions are searched for during 30 days.
"""

from django.db import migrations, models

_CREDITED = """
    UPDATE payments_refund AS refund SET credited_payments = COALESCE((
        SELECT jsonb_agg(payment.id ORDER BY payment.created_at, payment.id) FROM payments_payment AS payment
        WHERE payment.request_id = refund.request_id AND payment.status = 'completed'
            AND payment.completed_at <= refund.created_at
            AND (refund.payment_id IS NULL OR payment.id = refund.payment_id)
    ), '[]')
    WHERE refund.recipient_address = '' AND refund.cancelled_at IS NULL
"""
_WATCHED = """
    UPDATE payments_refund SET watched_until = now() + interval '30 days' WHERE carrier_id IS NOT NULL
"""
# The description of a carrier is public, and an external_id is not.
_DESCRIBED = """
    UPDATE payments_paymentrequest AS carrier SET description = 'Refund of ' || refunded.shortcode
    FROM payments_refund AS refund JOIN payments_paymentrequest AS refunded ON refunded.id = refund.request_id
    WHERE carrier.id = refund.carrier_id
"""


class Migration(migrations.Migration):

    dependencies = [
        ('payments', '0034_net_of_refunds_indexes'),
    ]

    operations = [
        migrations.AddField(
            model_name='refund',
            name='credited_payments',
            field=models.JSONField(blank=True, db_default=[], default=list, editable=False),
        ),
        migrations.AddField(
            model_name='refund',
            name='created_by',
            field=models.CharField(blank=True, db_default='', default='', editable=False, max_length=100),
        ),
        migrations.AddField(
            model_name='refund',
            name='watched_from',
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
        migrations.AddField(
            model_name='refund',
            name='watched_until',
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
        migrations.RunSQL(_CREDITED, migrations.RunSQL.noop),
        migrations.RunSQL(_WATCHED, migrations.RunSQL.noop),
        migrations.RunSQL(_DESCRIBED, migrations.RunSQL.noop),
    ]
