"""Indexes for the API's lists, made beside the running service.

Built without a time limit: broken off, they would have to be removed by hand.
"""

from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models


def listed(name: str, *by: str) -> AddIndexConcurrently:
    """Return the making of an index of a merchant's requests by these columns, the newest first."""
    index = models.Index(fields=["merchant", *by, "-created_at", "-id"], name=f"payment_request_{name}")
    return AddIndexConcurrently("paymentrequest", index)


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("payments", "0005_search_indexes")]

    operations = [
        migrations.RunSQL("SET statement_timeout = 0; SET lock_timeout = 0", migrations.RunSQL.noop),
        listed("listed"),
        listed("by_external_id", "external_id"),
        listed("by_status", "status"),
        listed("by_token", "token"),
        listed("by_chain", "chain"),
        # What it served, the one by external_id does as well.
        RemoveIndexConcurrently("paymentrequest", "payment_request_external_id"),
        migrations.RunSQL("RESET statement_timeout; RESET lock_timeout", migrations.RunSQL.noop),
    ]
