"""Indexes for the admin's lists and figures, made beside the running service.

Built without a time limit: broken off, they would have to be removed by hand.
"""

import django.contrib.postgres.indexes
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("payments", "0002_statistics"),
    ]

    operations = [
        migrations.RunSQL("SET statement_timeout = 0; SET lock_timeout = 0", migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name="payment",
            index=models.Index(
                condition=models.Q(("completed_at__isnull", False)),
                fields=["completed_at"],
                name="payment_completed",
            ),
        ),
        AddIndexConcurrently(
            model_name="payment",
            index=models.Index(
                condition=models.Q(("reorged", True)), fields=["completed_at"], name="payment_reorged"
            ),
        ),
        AddIndexConcurrently(
            model_name="payment",
            index=models.Index(
                condition=models.Q(("failure_code", "transaction_not_bound"), ("status", "failed")),
                fields=["failed_at"],
                name="payment_not_bound",
            ),
        ),
        AddIndexConcurrently(
            model_name="paymentrequest",
            index=models.Index(fields=["created_at"], name="payment_request_created"),
        ),
        AddIndexConcurrently(
            model_name="paymentrequest",
            index=models.Index(
                condition=models.Q(("amount_paid__gt", models.F("amount"))),
                fields=["-id"],
                name="payment_request_overpaid",
            ),
        ),
        AddIndexConcurrently(
            model_name="transition",
            index=django.contrib.postgres.indexes.BrinIndex(
                autosummarize=True, fields=["created_at"], name="transition_created"
            ),
        ),
        migrations.RunSQL("RESET statement_timeout; RESET lock_timeout", migrations.RunSQL.noop),
    ]
