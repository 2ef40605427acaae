"""Finding the payments that a merchant could accept, made beside the running service.

Built without a time limit: if interrupted, the index has to be removed by hand.
"""

from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models
from django.db.models import Q

_CODES = ("not_verifiable", "transaction_ambiguous", "transaction_not_bound")


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("payments", "0016_ended_requests_index")]

    operations = [
        migrations.RunSQL("SET statement_timeout = 0; SET lock_timeout = 0", migrations.RunSQL.noop),
        AddIndexConcurrently(
            "payment",
            models.Index(
                fields=["failed_at"],
                condition=Q(status="failed", failure_code__in=_CODES),
                name="payment_acceptable",
            ),
        ),
        RemoveIndexConcurrently("payment", "payment_not_bound"),
        migrations.RunSQL("RESET statement_timeout; RESET lock_timeout", migrations.RunSQL.noop),
    ]
