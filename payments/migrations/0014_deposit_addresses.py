"""Add the deposit addresses of payment requests. None was shown yet, so that the table and its indexes are empty."""

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("payments", "0013_receipts_mailed")]

    operations = [
        migrations.AddField(
            model_name="paymentrequest",
            name="deposit_address",
            field=models.CharField(blank=True, editable=False, max_length=64, null=True),
        ),
        migrations.AddField(
            model_name="discoverycursor",
            name="deposits_next_block",
            field=models.BigIntegerField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="discoverycursor",
            name="deposits_searched_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AlterField(
            model_name="payment",
            name="bound_by",
            field=models.CharField(
                blank=True,
                choices=[
                    ("reference", "Reference"),
                    ("payer", "Payer"),
                    ("provider", "Provider"),
                    ("address", "Address"),
                    ("manual", "Manual"),
                ],
                max_length=16,
            ),
        ),
        migrations.CreateModel(
            name="DepositAddress",
            fields=[
                (
                    "request",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        related_name="deposit",
                        serialize=False,
                        to="payments.paymentrequest",
                    ),
                ),
                ("address", models.CharField(max_length=64)),
                ("recipient_address", models.CharField(max_length=64)),
                ("factory", models.CharField(max_length=64)),
                ("init_code_hash", models.CharField(max_length=66)),
                ("shown_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("next_block", models.BigIntegerField(blank=True, editable=False, null=True)),
                ("next_look_at", models.DateTimeField(blank=True, editable=False, null=True)),
                ("claim_id", models.UUIDField(blank=True, editable=False, null=True)),
                ("lease_until", models.DateTimeField(blank=True, editable=False, null=True)),
                (
                    "chain",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="chains.chain",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "deposit addresses",
                "indexes": [
                    models.Index(fields=["chain", "recipient_address"], name="deposit_address_recipient"),
                    models.Index(
                        condition=models.Q(("next_block__isnull", True)),
                        fields=["chain"],
                        name="deposit_address_each_block",
                    ),
                    models.Index(
                        condition=models.Q(("next_look_at__isnull", False)),
                        fields=["next_look_at"],
                        name="deposit_address_due",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("address", "chain"), name="deposit_address_is_one_requests"
                    )
                ],
            },
        ),
    ]
