"""Indexes for the portal's search box and lists, made beside the running service.

Built without a time limit: broken off, they would have to be removed by hand.
"""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("payments", "0004_payment_is_simulated"),
    ]

    operations = [
        migrations.RunSQL("SET statement_timeout = 0; SET lock_timeout = 0", migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name="payment",
            index=models.Index(fields=["-created_at", "-id"], name="payment_newest"),
        ),
        AddIndexConcurrently(
            model_name="payment",
            index=models.Index(fields=["from_address", "-created_at"], name="payment_sender"),
        ),
        AddIndexConcurrently(
            model_name="payment",
            index=models.Index(
                condition=models.Q(("failure_code", ""), _negated=True),
                fields=["failure_code", "-created_at"],
                name="payment_failed_why",
            ),
        ),
        AddIndexConcurrently(
            model_name="paymentrequest",
            index=models.Index(fields=["recipient_address", "-id"], name="payment_request_recipient"),
        ),
        AddIndexConcurrently(
            model_name="paymentrequest",
            index=models.Index(
                condition=models.Q(("external_id__isnull", False)),
                fields=["external_id"],
                name="payment_request_order_number",
                opclasses=("varchar_pattern_ops",),
            ),
        ),
        migrations.RunSQL("RESET statement_timeout; RESET lock_timeout", migrations.RunSQL.noop),
    ]
