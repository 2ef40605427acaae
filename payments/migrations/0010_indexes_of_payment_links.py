"""Index the payment requests of links, without blocking writes. No row has a link yet, so the indexes are empty."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("payments", "0009_payment_links")]

    operations = [
        AddIndexConcurrently(
            model_name="paymentrequest",
            index=models.Index(
                fields=("payment_link", "-created_at", "-id"),
                condition=models.Q(payment_link__isnull=False),
                name="payment_request_by_link",
            ),
        ),
        AddIndexConcurrently(
            model_name="paymentrequest",
            index=models.Index(
                fields=("payment_link",),
                condition=models.Q(payment_link__isnull=False, amount_paid__gt=0),
                name="payment_request_paid_by_link",
            ),
        ),
    ]
