"""Give each transaction that the nodes are asked about a row of its own."""

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import F, Q
from django.db.models.functions import Least

_COPY = """
INSERT INTO payments_lookup (
    of_payment_id, chain_id, merchant_id, transaction_hash, is_simulated, next_check_at, finality_check_at,
    finality_misses, attempts, seen_at, block_number, block_hash, block_time, first_block_number, first_block_time,
    confirmations, confirmations_required
)
SELECT payment.id, payment.chain_id, request.merchant_id, payment.transaction_hash, payment.is_simulated,
       CASE WHEN payment.status IN ('pending', 'processing') AND coalesce(swap.delivery_hash, '') = ''
            THEN payment.next_check_at END,
       CASE WHEN payment.status = 'failed' OR coalesce(swap.delivery_hash, '') = '' THEN payment.finality_check_at END,
       0, payment.attempts, payment.seen_at, payment.block_number, payment.block_hash, payment.block_time,
       payment.first_block_number, payment.first_block_time, payment.confirmations, payment.confirmations_required
FROM payments_payment AS payment
JOIN payments_paymentrequest AS request ON request.id = payment.request_id
LEFT JOIN payments_swap AS swap ON swap.payment_id = payment.id;
INSERT INTO payments_lookup (
    of_swap_id, chain_id, merchant_id, transaction_hash, is_simulated, next_check_at, finality_check_at,
    finality_misses, attempts, seen_at, block_number, block_hash, block_time, confirmations
)
SELECT payment.id, request.chain_id, request.merchant_id, swap.delivery_hash, payment.is_simulated,
       CASE WHEN payment.status IN ('pending', 'processing') THEN payment.next_check_at END,
       CASE WHEN payment.status = 'completed' THEN payment.finality_check_at END,
       0, 0, swap.delivery_block_time, swap.delivery_block_number, swap.delivery_block_hash, swap.delivery_block_time,
       coalesce(swap.delivery_confirmations, 0)
FROM payments_swap AS swap
JOIN payments_payment AS payment ON payment.id = swap.payment_id
JOIN payments_paymentrequest AS request ON request.id = payment.request_id
WHERE swap.delivery_hash <> '';
SET CONSTRAINTS ALL IMMEDIATE;
SET CONSTRAINTS ALL DEFERRED;
DROP TRIGGER payment_lookup_on_insert ON payments_payment;
DROP FUNCTION payments_payment_set_lookup();
"""
_MOVED = {
    "payment": (
        "merchant",
        "lookup_chain",
        "next_check_at",
        "finality_check_at",
        "claim_id",
        "lease_until",
        "attempts",
        "seen_at",
        "block_number",
        "block_hash",
        "block_time",
        "first_block_number",
        "first_block_time",
        "confirmations",
        "confirmations_required",
    ),
    "swap": (
        "delivery_hash",
        "delivery_block_number",
        "delivery_block_hash",
        "delivery_block_time",
        "delivery_confirmations",
    ),
}


class Migration(migrations.Migration):
    dependencies = [
        ("chains", "0005_portal_labels"),
        ("merchants", "0011_portal_labels"),
        ("payments", "0038_swap"),
    ]

    operations = [
        migrations.AddField("swap", "attempts", models.PositiveSmallIntegerField(default=0)),
        migrations.CreateModel(
            name="Lookup",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                (
                    "of_payment",
                    models.OneToOneField(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="lookup",
                        to="payments.payment",
                    ),
                ),
                (
                    "of_swap",
                    models.OneToOneField(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="delivery",
                        to="payments.swap",
                    ),
                ),
                (
                    "chain",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="chains.chain",
                    ),
                ),
                (
                    "merchant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="merchants.merchant",
                    ),
                ),
                ("transaction_hash", models.CharField(max_length=90)),
                ("is_simulated", models.BooleanField(default=False)),
                ("next_check_at", models.DateTimeField(blank=True, null=True)),
                ("finality_check_at", models.DateTimeField(blank=True, null=True)),
                ("finality_misses", models.PositiveSmallIntegerField(default=0)),
                ("claim_id", models.UUIDField(blank=True, null=True)),
                ("lease_until", models.DateTimeField(blank=True, null=True)),
                ("attempts", models.PositiveSmallIntegerField(default=0)),
                ("seen_at", models.DateTimeField(blank=True, null=True)),
                ("block_number", models.BigIntegerField(blank=True, null=True)),
                ("block_hash", models.CharField(blank=True, max_length=90)),
                ("block_time", models.DateTimeField(blank=True, null=True)),
                ("first_block_number", models.BigIntegerField(blank=True, null=True)),
                ("first_block_time", models.DateTimeField(blank=True, null=True)),
                ("confirmations", models.PositiveBigIntegerField(default=0)),
                ("confirmations_required", models.PositiveIntegerField(blank=True, null=True)),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=Q(of_payment__isnull=False, of_swap__isnull=True)
                        | Q(of_payment__isnull=True, of_swap__isnull=False),
                        name="lookup_is_of_a_payment_or_of_a_swap",
                    )
                ],
            },
        ),
        migrations.RunSQL(_COPY, migrations.RunSQL.noop),
        *[
            migrations.AddIndex("lookup", index)
            for index in (
                models.Index(
                    F("chain"),
                    F("merchant"),
                    Least(F("attempts"), 1),
                    F("next_check_at"),
                    condition=Q(is_simulated=False, next_check_at__isnull=False),
                    name="lookup_due_in_turns",
                ),
                models.Index(
                    fields=("next_check_at",), condition=Q(next_check_at__isnull=False), name="lookup_due"
                ),
                models.Index(
                    fields=("finality_check_at",),
                    condition=Q(finality_check_at__isnull=False),
                    name="lookup_due_at_finality",
                ),
                models.Index(
                    fields=("transaction_hash",),
                    condition=Q(of_swap__isnull=False),
                    name="lookup_delivery_hash",
                ),
            )
        ],
        migrations.RemoveIndex("swap", "swap_delivery_hash"),
        migrations.RemoveIndex("payment", "payment_due"),
        migrations.RemoveIndex("payment", "payment_due_in_turns"),
        migrations.RemoveIndex("payment", "payment_due_at_finality"),
        *[migrations.RemoveField(model, name) for model, names in _MOVED.items() for name in names],
        migrations.AddIndex(
            "payment",
            models.Index(
                fields=("chain",), condition=Q(status__in=("pending", "processing")), name="payment_open"
            ),
        ),
        migrations.AddIndex(
            "payment",
            models.Index(
                fields=("unanswered_since",),
                condition=Q(status__in=("pending", "processing"), unanswered_since__isnull=False),
                name="payment_unanswered",
            ),
        ),
    ]
