"""Indexes for the admin's lists and figures, made beside the running service.

Built without a time limit: broken off, they would have to be removed by hand.
"""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("merchants", "0002_staff_membership"),
        ("webhooks", "0002_redelivery"),
    ]

    operations = [
        migrations.RunSQL("SET statement_timeout = 0; SET lock_timeout = 0", migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name="delivery",
            index=models.Index(
                models.OrderBy(models.F("created_at"), descending=True),
                models.OrderBy(models.F("id"), descending=True),
                name="delivery_newest_of_all",
            ),
        ),
        AddIndexConcurrently(
            model_name="delivery",
            index=models.Index(
                condition=models.Q(("finished_at__isnull", False)),
                fields=["finished_at"],
                name="delivery_ended",
            ),
        ),
        AddIndexConcurrently(
            model_name="delivery",
            index=models.Index(
                condition=models.Q(("status", "failed")), fields=["finished_at"], name="delivery_given_up"
            ),
        ),
        AddIndexConcurrently(
            model_name="event",
            index=models.Index(
                models.OrderBy(models.F("created"), descending=True),
                models.OrderBy(models.F("id"), descending=True),
                name="event_newest_of_all",
            ),
        ),
        migrations.RunSQL("RESET statement_timeout; RESET lock_timeout", migrations.RunSQL.noop),
    ]
