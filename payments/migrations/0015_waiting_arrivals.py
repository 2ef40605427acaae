"""Let small arrivals at deposit addresses wait to be credited together. Both changes are new and empty."""

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("chains", "0002_finality_tags"),
        ("payments", "0014_deposit_addresses"),
    ]

    operations = [
        migrations.AddField(
            model_name="depositaddress",
            name="grouped_at",
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
        migrations.CreateModel(
            name="WaitingArrival",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("transaction_hash", models.CharField(max_length=90)),
                ("due_at", models.DateTimeField()),
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
                    "request",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="payments.paymentrequest",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["chain", "due_at"], name="waiting_arrival_due")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("request", "transaction_hash"), name="waiting_arrival_waits_once"
                    )
                ],
            },
        ),
    ]
