"""Due deliveries are looked for merchant by merchant: an index for it, made beside the running service.

The table keeps room on its pages, so that a claim rewrites the row in place and no index. Built without a time
limit: broken off, the index would have to be removed by hand.
"""

from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("webhooks", "0005_event_tells_of")]

    operations = [
        migrations.RunSQL(
            "ALTER TABLE webhooks_delivery SET (fillfactor = 75)", "ALTER TABLE webhooks_delivery RESET (fillfactor)"
        ),
        migrations.RunSQL("SET statement_timeout = 0; SET lock_timeout = 0", migrations.RunSQL.noop),
        AddIndexConcurrently(
            "delivery",
            models.Index(
                fields=("merchant", "due_at", "id"),
                condition=models.Q(status="pending"),
                name="delivery_due_by_merchant",
            ),
        ),
        RemoveIndexConcurrently("delivery", "delivery_due"),
        migrations.RunSQL("RESET statement_timeout; RESET lock_timeout", migrations.RunSQL.noop),
    ]
