"""Index first attempts and retries apart, without blocking writes.

`delivery_due_by_merchant` serves the workers of the earlier version until they end.
"""

from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("webhooks", "0003_retries")]

    operations = [
        AddIndexConcurrently(
            model_name="delivery",
            index=models.Index(
                fields=("merchant", "is_retry", "due_at", "id"),
                condition=models.Q(status="pending", url_override=""),
                name="delivery_due_at_endpoint",
            ),
        ),
        AddIndexConcurrently(
            model_name="delivery",
            index=models.Index(
                fields=("merchant", "is_retry", "due_at", "id"),
                condition=models.Q(("status", "pending"), models.Q(("url_override", ""), _negated=True)),
                name="delivery_due_at_own_urls",
            ),
        ),
        RemoveIndexConcurrently(model_name="delivery", name="delivery_due_at_own_url"),
    ]
