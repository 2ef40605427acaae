"""Give the provider's side of a swap its own row."""

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import F, Q
from django.db.models.functions import Least

import chains.fields

_COPY = """
INSERT INTO payments_swap (
    payment_id, provider, provider_status, provider_url, polls, next_poll_at, reported_amount, delivery_hash,
    delivery_block_number, delivery_block_hash, delivery_block_time, delivery_confirmations
)
SELECT id, provider, provider_status, provider_url, bridge_looks,
       CASE WHEN is_bridging AND destination_transaction_hash = '' AND status IN ('pending', 'processing')
            THEN next_check_at END,
       reported_amount, destination_transaction_hash, destination_block_number, destination_block_hash,
       destination_block_time, destination_confirmations
FROM payments_payment WHERE provider <> '' OR destination_transaction_hash <> '';
SET CONSTRAINTS ALL IMMEDIATE;
SET CONSTRAINTS ALL DEFERRED;
"""
_WAIT = """
UPDATE payments_payment SET next_check_at = NULL
FROM payments_swap WHERE payment_id = id AND next_poll_at IS NOT NULL;
DROP TRIGGER payment_lookup_on_update ON payments_payment;
CREATE OR REPLACE FUNCTION payments_payment_set_lookup() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    SELECT request.merchant_id, NEW.chain_id INTO NEW.merchant_id, NEW.lookup_chain_id
    FROM payments_paymentrequest AS request WHERE request.id = NEW.request_id;
    RETURN NEW;
END $$;
"""


class Migration(migrations.Migration):
    dependencies = [("payments", "0037_refund_moved_to")]

    operations = [
        migrations.CreateModel(
            name="Swap",
            fields=[
                (
                    "payment",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="swap",
                        serialize=False,
                        to="payments.payment",
                    ),
                ),
                ("provider", models.CharField(blank=True, max_length=32)),
                ("provider_status", models.CharField(blank=True, max_length=64)),
                ("provider_url", models.CharField(blank=True, max_length=500, verbose_name="provider URL")),
                ("polls", models.PositiveIntegerField(default=0)),
                ("next_poll_at", models.DateTimeField(blank=True, null=True)),
                ("claim_id", models.UUIDField(blank=True, null=True)),
                ("lease_until", models.DateTimeField(blank=True, null=True)),
                ("reported_amount", chains.fields.BaseUnitsField(blank=True, null=True)),
                ("delivery_hash", models.CharField(blank=True, max_length=90)),
                ("delivery_block_number", models.BigIntegerField(blank=True, null=True)),
                ("delivery_block_hash", models.CharField(blank=True, max_length=90)),
                ("delivery_block_time", models.DateTimeField(blank=True, null=True)),
                ("delivery_confirmations", models.PositiveBigIntegerField(blank=True, null=True)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=Q(("next_poll_at__isnull", False)),
                        fields=["provider", "next_poll_at"],
                        name="swap_due",
                    ),
                    models.Index(
                        condition=Q(("delivery_hash", ""), _negated=True),
                        fields=["delivery_hash"],
                        name="swap_delivery_hash",
                    ),
                ],
                "constraints": [chains.fields.base_units_constraint("reported_amount", "swap")],
            },
        ),
        migrations.RunSQL(_COPY, migrations.RunSQL.noop),
        migrations.RemoveConstraint("payment", "payment_open_means_it_is_looked_at_again"),
        migrations.RemoveConstraint("payment", chains.fields.base_units_constraint("reported_amount", "payment").name),
        migrations.RemoveIndex("payment", "payment_due_in_turns"),
        migrations.RemoveIndex("payment", "payment_delivery_hash"),
        migrations.RunSQL(_WAIT, migrations.RunSQL.noop),
        *[
            migrations.RemoveField("payment", name)
            for name in (
                "is_bridging",
                "bridge_looks",
                "provider",
                "provider_status",
                "provider_url",
                "reported_amount",
                "destination_transaction_hash",
                "destination_block_number",
                "destination_block_hash",
                "destination_block_time",
                "destination_confirmations",
            )
        ],
        migrations.AddIndex(
            "payment",
            models.Index(
                F("lookup_chain"),
                F("merchant"),
                Least(F("attempts"), 1),
                F("next_check_at"),
                condition=Q(
                    status__in=("pending", "processing"), is_simulated=False, next_check_at__isnull=False
                ),
                name="payment_due_in_turns",
            ),
        ),
    ]
