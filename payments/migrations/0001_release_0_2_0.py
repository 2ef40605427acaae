"""The tables of `payments` as of release 0.2.0."""

import chains.fields
import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.db.models.deletion
import django.db.models.functions.comparison
import django.utils.timezone
import merchants.identifiers
import payments.models.payment
import payments.models.refund
import payments.models.request
import payments.models.route
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("payments", "0001_initial"),
        ("payments", "0002_statistics"),
        ("payments", "0003_figures_indexes"),
        ("payments", "0004_payment_is_simulated"),
        ("payments", "0005_search_indexes"),
        ("payments", "0006_list_indexes"),
        ("payments", "0007_attention_indexes"),
        ("payments", "0008_swaps"),
        ("payments", "0009_deliveries"),
        ("payments", "0010_delivery_index"),
        ("payments", "0011_payment_links"),
        ("payments", "0012_evidence"),
        ("payments", "0013_proof_heights"),
        ("payments", "0014_holding"),
        ("payments", "0015_merchant_cursors"),
        ("payments", "0016_ended_requests_index"),
        ("payments", "0017_acceptable_payments_index"),
        ("payments", "0018_discovery_claim"),
        ("payments", "0019_names_in_the_portal"),
        ("payments", "0020_simulated_payments_index"),
        ("payments", "0021_portal_labels"),
        ("payments", "0022_lookup_columns"),
        ("payments", "0023_due_in_turns"),
        ("payments", "0024_fewer_indexes"),
        ("payments", "0025_network_fee"),
        ("payments", "0026_network_fee_valid"),
        ("payments", "0027_prices"),
        ("payments", "0028_payment_value"),
        ("payments", "0029_due_for_value"),
        ("payments", "0030_daily_values"),
        ("payments", "0031_refunds"),
        ("payments", "0032_refund_built_at"),
        ("payments", "0033_net_of_refunds"),
        ("payments", "0034_net_of_refunds_indexes"),
        ("payments", "0035_refund_address_and_watch"),
        ("payments", "0036_refund_watched_index"),
        ("payments", "0037_refund_moved_to"),
        ("payments", "0038_swap"),
        ("payments", "0039_lookup"),
        ("payments", "0040_fewer_lookup_indexes"),
    ]
    dependencies = [
        ("chains", "0001_release_0_2_0"),
        ("merchants", "0001_release_0_2_0"),
    ]

    operations = [
        migrations.CreateModel(
            name="AcceptedRate",
            fields=[
                ("base", models.CharField(max_length=16, primary_key=True, serialize=False)),
                ("value", models.DecimalField(decimal_places=30, max_digits=60)),
                ("accepted_at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="DiscoveryCursor",
            fields=[
                (
                    "chain",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="chains.chain",
                    ),
                ),
                ("next_block", models.BigIntegerField(blank=True, null=True)),
                ("searched_at", models.DateTimeField(blank=True, null=True)),
                ("due_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("claim_id", models.UUIDField(blank=True, null=True)),
                ("lease_until", models.DateTimeField(blank=True, null=True)),
                ("merchants_at_once", models.PositiveIntegerField(blank=True, null=True)),
                ("watches", models.PositiveIntegerField(db_default=0, default=0)),
            ],
        ),
        migrations.CreateModel(
            name="LateValue",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("day", models.DateField()),
            ],
        ),
        migrations.CreateModel(
            name="Quote",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("provider", models.CharField(max_length=32)),
                ("provider_quote_id", models.CharField(blank=True, max_length=200)),
                ("bound_by", models.BinaryField(max_length=32)),
                ("amount_in", chains.fields.BaseUnitsField()),
                ("amount_out", chains.fields.BaseUnitsField()),
                ("amount_out_min", chains.fields.BaseUnitsField()),
                ("spender", models.CharField(blank=True, max_length=64)),
                ("must_reset_approval", models.BooleanField(default=False)),
                ("action", models.JSONField()),
                ("tracking", models.JSONField(default=dict)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("built_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "ordering": ("-created_at", "-id"),
            },
        ),
        migrations.CreateModel(
            name="FiguresProgress",
            fields=[
                ("id", models.SmallIntegerField(default=1, primary_key=True, serialize=False)),
                ("seen_until", models.DateTimeField()),
                ("filled_from", models.DateField()),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(condition=models.Q(("id", 1)), name="figures_progress_is_one_row")
                ],
            },
        ),
        migrations.CreateModel(
            name="PaymentRequest",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=merchants.identifiers.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "shortcode",
                    models.CharField(default=merchants.identifiers.shortcode, editable=False, max_length=12),
                ),
                (
                    "reference",
                    models.BinaryField(
                        default=payments.models.request.new_reference, max_length=16, unique=True
                    ),
                ),
                ("references", models.BooleanField(default=True)),
                ("link_shown_at", models.DateTimeField(editable=False, null=True)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("active", "Active"),
                            ("completed", "Completed"),
                            ("expired", "Expired"),
                            ("cancelled", "Cancelled"),
                        ],
                        default="active",
                        max_length=16,
                    ),
                ),
                ("amount", chains.fields.BaseUnitsField()),
                ("amount_paid", chains.fields.BaseUnitsField(default=0)),
                ("amount_reorged", chains.fields.BaseUnitsField(db_default=0, default=0)),
                ("recipient_address", models.CharField(max_length=64)),
                ("price", models.JSONField(blank=True, null=True)),
                ("rate", models.JSONField(blank=True, null=True)),
                (
                    "external_id",
                    models.CharField(blank=True, max_length=255, null=True, verbose_name="external ID"),
                ),
                ("description", models.CharField(blank=True, max_length=500, null=True)),
                ("metadata", models.JSONField(blank=True, default=dict)),
                (
                    "redirect_url",
                    models.CharField(blank=True, max_length=2048, null=True, verbose_name="redirect URL"),
                ),
                (
                    "cancel_url",
                    models.CharField(blank=True, max_length=2048, null=True, verbose_name="cancel URL"),
                ),
                (
                    "webhook_url",
                    models.CharField(blank=True, max_length=2048, null=True, verbose_name="webhook URL"),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("expires_at", models.DateTimeField()),
                ("completed_at", models.DateTimeField(blank=True, null=True)),
                ("expired_at", models.DateTimeField(blank=True, null=True)),
                ("cancelled_at", models.DateTimeField(blank=True, null=True)),
                ("paid_late", models.BooleanField(default=False)),
                ("late_price_mail_at", models.DateTimeField(editable=False, null=True)),
                (
                    "unbound_failure_sent",
                    models.BooleanField(db_default=False, default=False, editable=False),
                ),
                ("expiry_check_at", models.DateTimeField()),
                ("is_refund", models.BooleanField(db_default=False, default=False, editable=False)),
                ("has_refunds", models.BooleanField(db_default=False, default=False, editable=False)),
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
                        related_name="payment_requests",
                        to="merchants.merchant",
                    ),
                ),
                (
                    "token",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="chains.token"
                    ),
                ),
            ],
            options={
                "ordering": ("-id",),
            },
        ),
        migrations.CreateModel(
            name="Payment",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=payments.models.payment.new_payment_id,
                        editable=False,
                        max_length=28,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("pending", "Pending"),
                            ("processing", "Processing"),
                            ("completed", "Completed"),
                            ("failed", "Failed"),
                        ],
                        default="pending",
                        max_length=16,
                    ),
                ),
                (
                    "type",
                    models.CharField(
                        choices=[("direct", "Direct"), ("swap", "Swap")], default="direct", max_length=8
                    ),
                ),
                ("transaction_hash", models.CharField(max_length=90)),
                ("submitted_publicly", models.BooleanField(default=True)),
                ("is_simulated", models.BooleanField(db_default=False, default=False, editable=False)),
                ("from_address", models.CharField(blank=True, max_length=64)),
                ("nonce", models.BigIntegerField(blank=True, null=True)),
                ("amount", chains.fields.BaseUnitsField(blank=True, null=True)),
                ("amount_received", chains.fields.BaseUnitsField(blank=True, null=True)),
                ("value", models.JSONField(blank=True, null=True)),
                ("value_due_at", models.DateTimeField(blank=True, editable=False, null=True)),
                (
                    "bound_by",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("reference", "Reference"),
                            ("payer", "Payer"),
                            ("provider", "Provider"),
                            ("manual", "Manual"),
                        ],
                        max_length=16,
                    ),
                ),
                ("is_in_flight", models.BooleanField(default=False)),
                ("carries_others", models.BooleanField(default=False)),
                ("accepted_by", models.CharField(blank=True, max_length=100)),
                ("accepted_reason", models.CharField(blank=True, max_length=500)),
                ("reorged", models.BooleanField(default=False)),
                ("after_price", models.BooleanField(db_default=False, default=False, editable=False)),
                (
                    "submitter",
                    models.CharField(blank=True, db_default="", default="", editable=False, max_length=64),
                ),
                ("is_bound_unmined", models.BooleanField(db_default=False, default=False)),
                ("held_from", models.DateTimeField(blank=True, editable=False, null=True)),
                ("effect", models.CharField(blank=True, db_default="", default="", max_length=66)),
                ("network_fee", chains.fields.BaseUnitsField(blank=True, editable=False, null=True)),
                ("replaced_hashes", models.JSONField(blank=True, db_default=[], default=list)),
                (
                    "likely_failure",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("transaction_reverted", "Transaction Reverted"),
                            ("wrong_chain", "Wrong Chain"),
                            ("wrong_token", "Wrong Token"),
                            ("wrong_recipient", "Wrong Recipient"),
                            ("wrong_amount", "Wrong Amount"),
                            ("transaction_too_old", "Transaction Too Old"),
                            ("transaction_not_bound", "Transaction Not Bound"),
                            ("transaction_ambiguous", "Transaction Ambiguous"),
                            ("transaction_already_used", "Transaction Already Used"),
                            ("transaction_replaced", "Transaction Replaced"),
                            ("transaction_not_found", "Transaction Not Found"),
                            ("not_verifiable", "Not Verifiable"),
                            ("verification_timed_out", "Verification Timed Out"),
                            ("swap_partial", "Swap Partial"),
                            ("swap_refunded", "Swap Refunded"),
                            ("swap_failed", "Swap Failed"),
                        ],
                        db_default="",
                        default="",
                        max_length=32,
                    ),
                ),
                ("status_detail", models.CharField(blank=True, max_length=500)),
                (
                    "failure_code",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("transaction_reverted", "Transaction Reverted"),
                            ("wrong_chain", "Wrong Chain"),
                            ("wrong_token", "Wrong Token"),
                            ("wrong_recipient", "Wrong Recipient"),
                            ("wrong_amount", "Wrong Amount"),
                            ("transaction_too_old", "Transaction Too Old"),
                            ("transaction_not_bound", "Transaction Not Bound"),
                            ("transaction_ambiguous", "Transaction Ambiguous"),
                            ("transaction_already_used", "Transaction Already Used"),
                            ("transaction_replaced", "Transaction Replaced"),
                            ("transaction_not_found", "Transaction Not Found"),
                            ("not_verifiable", "Not Verifiable"),
                            ("verification_timed_out", "Verification Timed Out"),
                            ("swap_partial", "Swap Partial"),
                            ("swap_refunded", "Swap Refunded"),
                            ("swap_failed", "Swap Failed"),
                        ],
                        max_length=32,
                    ),
                ),
                ("failure_message", models.CharField(blank=True, max_length=500)),
                ("retries", models.PositiveSmallIntegerField(default=0)),
                ("reopened_publicly", models.BooleanField(default=False)),
                ("unanswered_looks", models.PositiveIntegerField(default=0)),
                ("unanswered_since", models.DateTimeField(blank=True, null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("verifying_since", models.DateTimeField(default=django.utils.timezone.now)),
                ("completed_at", models.DateTimeField(blank=True, null=True)),
                ("failed_at", models.DateTimeField(blank=True, null=True)),
                (
                    "chain",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="chains.chain"
                    ),
                ),
                (
                    "token",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="chains.token",
                    ),
                ),
                (
                    "request",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="payments",
                        to="payments.paymentrequest",
                    ),
                ),
                (
                    "quote",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="payments",
                        to="payments.quote",
                    ),
                ),
            ],
            options={
                "ordering": ("-created_at", "-id"),
            },
        ),
        migrations.CreateModel(
            name="Refund",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=payments.models.refund.new_refund_id,
                        editable=False,
                        max_length=27,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("amount", chains.fields.BaseUnitsField()),
                ("recipient_address", models.CharField(blank=True, max_length=64)),
                (
                    "address_source",
                    models.CharField(
                        blank=True, choices=[("merchant", "Merchant"), ("customer", "Customer")], max_length=8
                    ),
                ),
                ("reason", models.CharField(blank=True, max_length=500, null=True)),
                (
                    "code",
                    models.CharField(
                        default=merchants.identifiers.shortcode, editable=False, max_length=12, unique=True
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("cancelled_at", models.DateTimeField(blank=True, null=True)),
                ("built_at", models.DateTimeField(blank=True, editable=False, null=True)),
                (
                    "credited_payments",
                    models.JSONField(blank=True, db_default=[], default=list, editable=False),
                ),
                (
                    "created_by",
                    models.CharField(blank=True, db_default="", default="", editable=False, max_length=100),
                ),
                ("watched_from", models.DateTimeField(blank=True, editable=False, null=True)),
                ("watched_until", models.DateTimeField(blank=True, editable=False, null=True)),
                (
                    "carrier",
                    models.OneToOneField(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="refund",
                        to="payments.paymentrequest",
                    ),
                ),
                (
                    "merchant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="refunds",
                        to="merchants.merchant",
                    ),
                ),
                (
                    "moved_to",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="payments.refund",
                    ),
                ),
                (
                    "payment",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="payments.payment",
                    ),
                ),
                (
                    "request",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="refunds",
                        to="payments.paymentrequest",
                    ),
                ),
            ],
            options={
                "ordering": ("-created_at", "-id"),
            },
        ),
        migrations.CreateModel(
            name="Route",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=payments.models.route.new_route_id,
                        editable=False,
                        max_length=27,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                (
                    "type",
                    models.CharField(
                        choices=[("direct", "Direct"), ("swap", "Swap")], default="direct", max_length=8
                    ),
                ),
                ("wallet_address", models.CharField(max_length=64)),
                ("amount", chains.fields.BaseUnitsField()),
                ("amount_due", chains.fields.BaseUnitsField(blank=True, null=True)),
                ("provider", models.CharField(blank=True, db_default="", default="", max_length=32)),
                ("details", models.JSONField(blank=True, db_default={}, default=dict)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("expires_at", models.DateTimeField()),
                ("built_at", models.DateTimeField(blank=True, null=True)),
                ("proof_message", models.TextField(blank=True)),
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
                    "request",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="routes",
                        to="payments.paymentrequest",
                    ),
                ),
                (
                    "token",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="chains.token",
                    ),
                ),
            ],
        ),
        migrations.AddField(
            model_name="quote",
            name="route",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="quotes", to="payments.route"
            ),
        ),
        migrations.AddField(
            model_name="payment",
            name="route",
            field=models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="payments.route",
            ),
        ),
        migrations.CreateModel(
            name="PayerProof",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("recipient_address", models.CharField(max_length=64)),
                ("address", models.CharField(max_length=64)),
                ("message", models.TextField()),
                ("signature", models.TextField()),
                ("not_before", models.DateTimeField()),
                ("not_after", models.DateTimeField()),
                ("verified_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("head_block", models.BigIntegerField(blank=True, editable=False, null=True)),
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
                    "token",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="chains.token",
                    ),
                ),
                (
                    "request",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="payer_proofs",
                        to="payments.paymentrequest",
                    ),
                ),
                (
                    "route",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="payments.route"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Transition",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("from_status", models.CharField(blank=True, max_length=16)),
                ("to_status", models.CharField(max_length=16)),
                ("actor", models.CharField(max_length=100)),
                ("reason", models.CharField(blank=True, max_length=500)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "payment",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="transitions",
                        to="payments.payment",
                    ),
                ),
                (
                    "request",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="transitions",
                        to="payments.paymentrequest",
                    ),
                ),
            ],
            options={
                "verbose_name": "status change",
                "ordering": ("id",),
            },
        ),
        migrations.CreateModel(
            name="DailyFigures",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("day", models.DateField()),
                ("requests_created", models.PositiveIntegerField(default=0)),
                ("requests_paid", models.PositiveIntegerField(default=0)),
                ("requests_open", models.PositiveIntegerField(default=0)),
                (
                    "confirmation_times",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.PositiveIntegerField(), default=list, size=None
                    ),
                ),
                ("deliveries_delivered", models.PositiveIntegerField(default=0)),
                ("deliveries_failed", models.PositiveIntegerField(default=0)),
                (
                    "merchant",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="merchants.merchant",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("merchant", "day"), name="daily_figures_of_a_merchant"),
                    models.UniqueConstraint(
                        condition=models.Q(("merchant", None)), fields=("day",), name="daily_figures_of_all"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="DailyValue",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("day", models.DateField()),
                ("currency", models.CharField(max_length=3)),
                ("payments", models.PositiveIntegerField()),
                ("amount", models.DecimalField(decimal_places=3, max_digits=110)),
                (
                    "merchant",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="merchants.merchant",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("merchant", "day", "currency"), name="daily_value_of_a_merchant"
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("merchant", None)),
                        fields=("day", "currency"),
                        name="daily_value_of_all",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="DailyVolume",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("day", models.DateField()),
                ("payments", models.PositiveIntegerField()),
                ("amount", models.DecimalField(decimal_places=0, max_digits=96)),
                (
                    "merchant",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="merchants.merchant",
                    ),
                ),
                (
                    "token",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="chains.token"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("merchant", "day", "token"), name="daily_volume_of_a_merchant"
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("merchant", None)),
                        fields=("day", "token"),
                        name="daily_volume_of_all",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="MerchantCursor",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("next_block", models.BigIntegerField(blank=True, null=True)),
                ("searched_at", models.DateTimeField(blank=True, null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("turn_at", models.DateTimeField(blank=True, null=True)),
                ("until_block", models.BigIntegerField(blank=True, null=True)),
                ("after", models.UUIDField(blank=True, null=True)),
                ("pass_head", models.BigIntegerField(blank=True, null=True)),
                ("pass_began_at", models.DateTimeField(blank=True, null=True)),
                ("is_alone", models.BooleanField(default=False)),
                (
                    "chain",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="chains.chain"
                    ),
                ),
                (
                    "merchant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="merchants.merchant"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("chain", "merchant"), name="merchant_cursor_is_one_per_chain"
                    )
                ],
            },
        ),
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
                ("attempts", models.PositiveSmallIntegerField(default=0)),
                ("next_poll_at", models.DateTimeField(blank=True, null=True)),
                ("claim_id", models.UUIDField(blank=True, null=True)),
                ("lease_until", models.DateTimeField(blank=True, null=True)),
                ("reported_amount", chains.fields.BaseUnitsField(blank=True, null=True)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("next_poll_at__isnull", False)),
                        fields=["provider", "next_poll_at"],
                        name="swap_due",
                    )
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("reported_amount__gte", 0),
                                (
                                    "reported_amount__lte",
                                    115792089237316195423570985008687907853269984665640564039457584007913129639935,
                                ),
                            ),
                            ("reported_amount__isnull", True),
                            _connector="OR",
                        ),
                        name="swap_reported_amount_is_uint256",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Lookup",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
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
            ],
        ),
        migrations.CreateModel(
            name="ConsumedTransfer",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("transaction_hash", models.CharField(max_length=90)),
                ("slot", models.CharField(max_length=160)),
                ("account", models.CharField(blank=True, db_default="", default="", max_length=64)),
                ("amount", chains.fields.BaseUnitsField()),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
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
                    "payment",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="consumed_transfers",
                        to="payments.payment",
                    ),
                ),
            ],
            options={
                "verbose_name": "credited transfer",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("chain", "transaction_hash", "slot"), name="consumed_transfer_counts_once"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("transaction_hash", ""), _negated=True),
                            models.Q(("slot", ""), _negated=True),
                            ("amount__gt", 0),
                        ),
                        name="consumed_transfer_is_complete",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("amount__gte", 0),
                                (
                                    "amount__lte",
                                    115792089237316195423570985008687907853269984665640564039457584007913129639935,
                                ),
                            ),
                            ("amount__isnull", True),
                            _connector="OR",
                        ),
                        name="consumed_transfer_amount_is_uint256",
                    ),
                ],
            },
        ),
        migrations.AddIndex(
            model_name="paymentrequest",
            index=models.Index(fields=["merchant", "-created_at", "-id"], name="payment_request_listed"),
        ),
        migrations.AddIndex(
            model_name="paymentrequest",
            index=models.Index(
                fields=["merchant", "status", "-created_at", "-id"], name="payment_request_by_status"
            ),
        ),
        migrations.AddIndex(
            model_name="paymentrequest",
            index=models.Index(
                fields=["merchant", "token", "-created_at", "-id"], name="payment_request_by_token"
            ),
        ),
        migrations.AddIndex(
            model_name="paymentrequest",
            index=models.Index(
                fields=["merchant", "chain", "-created_at", "-id"], name="payment_request_by_chain"
            ),
        ),
        migrations.AddIndex(
            model_name="paymentrequest",
            index=models.Index(
                condition=models.Q(("status", "active")),
                fields=["expiry_check_at"],
                name="payment_request_due_for_expiry",
            ),
        ),
        migrations.AddIndex(
            model_name="paymentrequest",
            index=models.Index(fields=["created_at"], name="payment_request_created"),
        ),
        migrations.AddIndex(
            model_name="paymentrequest",
            index=models.Index(
                django.db.models.functions.comparison.Greatest("completed_at", "expired_at", "cancelled_at"),
                name="payment_request_ended",
            ),
        ),
        migrations.AddIndex(
            model_name="paymentrequest",
            index=models.Index(
                condition=models.Q(("amount_paid__gt", models.F("amount"))),
                fields=["-expires_at"],
                name="payment_request_more_came",
            ),
        ),
        migrations.AddIndex(
            model_name="paymentrequest",
            index=models.Index(
                condition=models.Q(("amount_paid__gt", 0), ("status__in", ("expired", "cancelled"))),
                fields=["-expires_at"],
                name="payment_request_partly_paid",
            ),
        ),
        migrations.AddIndex(
            model_name="paymentrequest",
            index=models.Index(
                condition=models.Q(
                    ("amount_paid__gte", models.F("amount")), ("status__in", ("active", "expired"))
                ),
                fields=["-expires_at"],
                name="payment_request_undecided",
            ),
        ),
        migrations.AddIndex(
            model_name="paymentrequest",
            index=models.Index(
                condition=models.Q(("paid_late", True)),
                fields=["-completed_at"],
                name="payment_request_paid_late",
            ),
        ),
        migrations.AddIndex(
            model_name="paymentrequest",
            index=models.Index(
                condition=models.Q(("late_price_mail_at__isnull", False)),
                fields=["late_price_mail_at"],
                name="payment_request_mail_due",
            ),
        ),
        migrations.AddIndex(
            model_name="paymentrequest",
            index=models.Index(fields=["recipient_address", "-id"], name="payment_request_recipient"),
        ),
        migrations.AddIndex(
            model_name="paymentrequest",
            index=models.Index(
                django.contrib.postgres.indexes.OpClass(models.F("external_id"), name="varchar_pattern_ops"),
                models.F("merchant"),
                models.OrderBy(models.F("created_at"), descending=True),
                models.OrderBy(models.F("id"), descending=True),
                condition=models.Q(("external_id__isnull", False)),
                name="payment_request_by_order",
            ),
        ),
        migrations.AddConstraint(
            model_name="paymentrequest",
            constraint=models.UniqueConstraint(
                fields=("shortcode",), name="payment_request_shortcode", opclasses=("varchar_pattern_ops",)
            ),
        ),
        migrations.AddConstraint(
            model_name="paymentrequest",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("amount__gte", 0),
                        (
                            "amount__lte",
                            115792089237316195423570985008687907853269984665640564039457584007913129639935,
                        ),
                    ),
                    ("amount__isnull", True),
                    _connector="OR",
                ),
                name="payment_request_amount_is_uint256",
            ),
        ),
        migrations.AddConstraint(
            model_name="paymentrequest",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("amount_paid__gte", 0),
                        (
                            "amount_paid__lte",
                            115792089237316195423570985008687907853269984665640564039457584007913129639935,
                        ),
                    ),
                    ("amount_paid__isnull", True),
                    _connector="OR",
                ),
                name="payment_request_amount_paid_is_uint256",
            ),
        ),
        migrations.AddConstraint(
            model_name="paymentrequest",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("amount_reorged__gte", 0),
                        (
                            "amount_reorged__lte",
                            115792089237316195423570985008687907853269984665640564039457584007913129639935,
                        ),
                    ),
                    ("amount_reorged__isnull", True),
                    _connector="OR",
                ),
                name="payment_request_amount_reorged_is_uint256",
            ),
        ),
        migrations.AddConstraint(
            model_name="paymentrequest",
            constraint=models.CheckConstraint(
                condition=models.Q(("amount__gt", 0)), name="payment_request_amount_is_positive"
            ),
        ),
        migrations.AddConstraint(
            model_name="paymentrequest",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("status", "completed"), _negated=True),
                    ("amount_paid__gte", models.F("amount")),
                    _connector="OR",
                ),
                name="payment_request_completed_means_paid_in_full",
            ),
        ),
        migrations.AddIndex(
            model_name="refund",
            index=models.Index(fields=["merchant", "-created_at", "-id"], name="refund_listed"),
        ),
        migrations.AddIndex(
            model_name="refund",
            index=models.Index(
                condition=models.Q(("watched_until__isnull", False)),
                fields=["watched_until"],
                name="refund_watched",
            ),
        ),
        migrations.AddConstraint(
            model_name="refund",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("amount__gte", 0),
                        (
                            "amount__lte",
                            115792089237316195423570985008687907853269984665640564039457584007913129639935,
                        ),
                    ),
                    ("amount__isnull", True),
                    _connector="OR",
                ),
                name="refund_amount_is_uint256",
            ),
        ),
        migrations.AddConstraint(
            model_name="refund",
            constraint=models.CheckConstraint(
                condition=models.Q(("amount__gt", 0)), name="refund_amount_is_positive"
            ),
        ),
        migrations.AddConstraint(
            model_name="refund",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("carrier__isnull", True),
                    models.Q(("recipient_address", ""), _negated=True),
                    _connector="OR",
                ),
                name="refund_with_a_carrier_has_an_address",
            ),
        ),
        migrations.AddConstraint(
            model_name="route",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("amount__gte", 0),
                        (
                            "amount__lte",
                            115792089237316195423570985008687907853269984665640564039457584007913129639935,
                        ),
                    ),
                    ("amount__isnull", True),
                    _connector="OR",
                ),
                name="route_amount_is_uint256",
            ),
        ),
        migrations.AddConstraint(
            model_name="route",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("amount_due__gte", 0),
                        (
                            "amount_due__lte",
                            115792089237316195423570985008687907853269984665640564039457584007913129639935,
                        ),
                    ),
                    ("amount_due__isnull", True),
                    _connector="OR",
                ),
                name="route_amount_due_is_uint256",
            ),
        ),
        migrations.AddConstraint(
            model_name="quote",
            constraint=models.UniqueConstraint(fields=("bound_by",), name="quote_id_binds_one_quote"),
        ),
        migrations.AddConstraint(
            model_name="quote",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("amount_in__gte", 0),
                        (
                            "amount_in__lte",
                            115792089237316195423570985008687907853269984665640564039457584007913129639935,
                        ),
                    ),
                    ("amount_in__isnull", True),
                    _connector="OR",
                ),
                name="quote_amount_in_is_uint256",
            ),
        ),
        migrations.AddConstraint(
            model_name="quote",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("amount_out__gte", 0),
                        (
                            "amount_out__lte",
                            115792089237316195423570985008687907853269984665640564039457584007913129639935,
                        ),
                    ),
                    ("amount_out__isnull", True),
                    _connector="OR",
                ),
                name="quote_amount_out_is_uint256",
            ),
        ),
        migrations.AddConstraint(
            model_name="quote",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("amount_out_min__gte", 0),
                        (
                            "amount_out_min__lte",
                            115792089237316195423570985008687907853269984665640564039457584007913129639935,
                        ),
                    ),
                    ("amount_out_min__isnull", True),
                    _connector="OR",
                ),
                name="quote_amount_out_min_is_uint256",
            ),
        ),
        migrations.AddConstraint(
            model_name="quote",
            constraint=models.CheckConstraint(
                condition=models.Q(("amount_in__gt", 0), ("amount_out_min__gt", 0)),
                name="quote_moves_something",
            ),
        ),
        migrations.AddIndex(
            model_name="payment",
            index=models.Index(
                condition=models.Q(("status__in", ("pending", "processing"))),
                fields=["chain"],
                name="payment_open",
            ),
        ),
        migrations.AddIndex(
            model_name="payment",
            index=models.Index(
                condition=models.Q(
                    ("status__in", ("pending", "processing")), ("unanswered_since__isnull", False)
                ),
                fields=["unanswered_since"],
                name="payment_unanswered",
            ),
        ),
        migrations.AddIndex(
            model_name="payment",
            index=models.Index(fields=["transaction_hash"], name="payment_transaction_hash"),
        ),
        migrations.AddIndex(
            model_name="payment",
            index=models.Index(
                condition=models.Q(("completed_at__isnull", False)),
                fields=["completed_at"],
                name="payment_completed",
            ),
        ),
        migrations.AddIndex(
            model_name="payment",
            index=models.Index(
                condition=models.Q(("value_due_at__isnull", False)),
                fields=["value_due_at"],
                name="payment_due_for_value",
            ),
        ),
        migrations.AddIndex(
            model_name="payment",
            index=models.Index(
                condition=models.Q(("reorged", True)), fields=["completed_at"], name="payment_reorged"
            ),
        ),
        migrations.AddIndex(
            model_name="payment",
            index=models.Index(
                condition=models.Q(("is_simulated", True)), fields=["request"], name="payment_simulated"
            ),
        ),
        migrations.AddIndex(
            model_name="payment",
            index=models.Index(
                condition=models.Q(
                    (
                        "failure_code__in",
                        ("not_verifiable", "transaction_ambiguous", "transaction_not_bound"),
                    ),
                    ("status", "failed"),
                ),
                fields=["failed_at"],
                name="payment_acceptable",
            ),
        ),
        migrations.AddIndex(
            model_name="payment",
            index=models.Index(fields=["-created_at", "-id"], name="payment_newest"),
        ),
        migrations.AddIndex(
            model_name="payment",
            index=models.Index(fields=["from_address", "-created_at"], name="payment_sender"),
        ),
        migrations.AddIndex(
            model_name="payment",
            index=models.Index(
                condition=models.Q(("failure_code", ""), _negated=True),
                fields=["failure_code", "-created_at"],
                name="payment_failed_why",
            ),
        ),
        migrations.AddConstraint(
            model_name="payment",
            constraint=models.UniqueConstraint(
                fields=("request", "chain", "transaction_hash"),
                name="payment_is_one_per_request_and_transaction",
            ),
        ),
        migrations.AddConstraint(
            model_name="payment",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("amount__gte", 0),
                        (
                            "amount__lte",
                            115792089237316195423570985008687907853269984665640564039457584007913129639935,
                        ),
                    ),
                    ("amount__isnull", True),
                    _connector="OR",
                ),
                name="payment_amount_is_uint256",
            ),
        ),
        migrations.AddConstraint(
            model_name="payment",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("amount_received__gte", 0),
                        (
                            "amount_received__lte",
                            115792089237316195423570985008687907853269984665640564039457584007913129639935,
                        ),
                    ),
                    ("amount_received__isnull", True),
                    _connector="OR",
                ),
                name="payment_amount_received_is_uint256",
            ),
        ),
        migrations.AddConstraint(
            model_name="payment",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("network_fee__gte", 0),
                        (
                            "network_fee__lte",
                            115792089237316195423570985008687907853269984665640564039457584007913129639935,
                        ),
                    ),
                    ("network_fee__isnull", True),
                    _connector="OR",
                ),
                name="payment_network_fee_is_uint256",
            ),
        ),
        migrations.AddConstraint(
            model_name="payment",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("status", "completed"), _negated=True),
                    models.Q(("amount_received__gt", 0), ("amount_received__isnull", False)),
                    _connector="OR",
                ),
                name="payment_completed_means_something_came",
            ),
        ),
        migrations.AddIndex(
            model_name="payerproof",
            index=models.Index(
                fields=["address", "chain", "token", "recipient_address"], name="payer_proof_by_wallet"
            ),
        ),
        migrations.AddIndex(
            model_name="transition",
            index=django.contrib.postgres.indexes.BrinIndex(
                autosummarize=True, fields=["created_at"], name="transition_created"
            ),
        ),
        migrations.AddIndex(
            model_name="transition",
            index=models.Index(
                condition=models.Q(("payment__isnull", False)),
                fields=["payment"],
                name="transition_of_payment",
            ),
        ),
        migrations.AddIndex(
            model_name="lookup",
            index=models.Index(
                models.F("chain"),
                models.F("merchant"),
                django.db.models.functions.comparison.Least(models.F("attempts"), 1),
                models.F("next_check_at"),
                condition=models.Q(("is_simulated", False), ("next_check_at__isnull", False)),
                name="lookup_due_in_turns",
            ),
        ),
        migrations.AddIndex(
            model_name="lookup",
            index=models.Index(
                condition=models.Q(("next_check_at__isnull", False)),
                fields=["next_check_at"],
                name="lookup_due",
            ),
        ),
        migrations.AddIndex(
            model_name="lookup",
            index=models.Index(
                condition=models.Q(("finality_check_at__isnull", False)),
                fields=["finality_check_at"],
                name="lookup_due_at_finality",
            ),
        ),
        migrations.AddIndex(
            model_name="lookup",
            index=models.Index(
                condition=models.Q(("of_swap__isnull", False)),
                fields=["transaction_hash"],
                name="lookup_delivery_hash",
            ),
        ),
        migrations.AddConstraint(
            model_name="lookup",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("of_payment__isnull", False), ("of_swap__isnull", True)),
                    models.Q(("of_payment__isnull", True), ("of_swap__isnull", False)),
                    _connector="OR",
                ),
                name="lookup_is_of_a_payment_or_of_a_swap",
            ),
        ),
    ]
