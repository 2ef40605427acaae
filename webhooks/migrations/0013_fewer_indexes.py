"""Drop the indexes that no query needs, beside the running service. An interrupted migration can be run again."""

from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models


def without_likes(table: str, digest: str) -> migrations.RunSQL:
    """Return the dropping of the index that Django made for searches by the beginning of an id."""
    index = f"webhooks_{table}_id_{digest}_like"
    return migrations.RunSQL(
        f"DROP INDEX CONCURRENTLY IF EXISTS {index}",
        f"CREATE INDEX CONCURRENTLY IF NOT EXISTS {index} ON webhooks_{table} (id varchar_pattern_ops)",
    )


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("webhooks", "0012_partitions")]

    operations = [
        migrations.RunSQL("SET statement_timeout = 0; SET lock_timeout = 0", migrations.RunSQL.noop),
        # Deliveries of events are found by the foreign key; only test events have no other.
        migrations.RunSQL(
            "DROP INDEX CONCURRENTLY IF EXISTS delivery_of_test_event", migrations.RunSQL.noop
        ),
        AddIndexConcurrently(
            "delivery",
            models.Index(
                fields=("public_event_id",),
                condition=models.Q(event__isnull=True),
                name="delivery_of_test_event",
            ),
        ),
        RemoveIndexConcurrently("delivery", "delivery_of_event"),
        without_likes("event", "136b0861"),
        without_likes("delivery", "b47d672f"),
        migrations.RunSQL("RESET statement_timeout; RESET lock_timeout", migrations.RunSQL.noop),
    ]
