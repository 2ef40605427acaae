"""Indexes of the few requests that need a person, made beside the running service.

Built without a time limit: broken off, they would have to be removed by hand.
"""

from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models
from django.db.models import F, Q


def newest(time: str, name: str, condition: Q) -> AddIndexConcurrently:
    index = models.Index(fields=[f"-{time}"], condition=condition, name=f"payment_request_{name}")
    return AddIndexConcurrently("paymentrequest", index)


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("payments", "0006_list_indexes")]

    operations = [
        migrations.RunSQL("SET statement_timeout = 0; SET lock_timeout = 0", migrations.RunSQL.noop),
        newest("expires_at", "more_came", Q(amount_paid__gt=F("amount"))),
        newest("expires_at", "partly_paid", Q(amount_paid__gt=0, status__in=("expired", "cancelled"))),
        newest("completed_at", "paid_late", Q(paid_late=True)),
        # In the order of ids, the planner preferred to read the whole table by another index.
        RemoveIndexConcurrently("paymentrequest", "payment_request_overpaid"),
        migrations.RunSQL("RESET statement_timeout; RESET lock_timeout", migrations.RunSQL.noop),
    ]
