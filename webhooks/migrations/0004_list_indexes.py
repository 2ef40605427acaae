"""Indexes for the filters of the API's lists, made beside the running service.

Built without a time limit: broken off, they would have to be removed by hand.
"""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


def newest(by: str, time: str, name: str) -> models.Index:
    """Return an index of a merchant's rows by one column, the newest first."""
    return models.Index(
        models.F("merchant"),
        models.F(by),
        models.OrderBy(models.F(time), descending=True),
        models.OrderBy(models.F("id"), descending=True),
        name=name,
    )


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("webhooks", "0003_log_indexes")]

    operations = [
        migrations.RunSQL("SET statement_timeout = 0; SET lock_timeout = 0", migrations.RunSQL.noop),
        AddIndexConcurrently("event", newest("type", "created", "event_newest_of_type")),
        AddIndexConcurrently("delivery", newest("type", "created_at", "delivery_newest_of_type")),
        AddIndexConcurrently("delivery", newest("status", "created_at", "delivery_newest_of_status")),
        migrations.RunSQL("RESET statement_timeout; RESET lock_timeout", migrations.RunSQL.noop),
    ]
