"""An index by which the portal finds the events of one payment, made beside the running service.

Built without a time limit: broken off, it would have to be removed by hand.
"""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("webhooks", "0004_list_indexes")]

    operations = [
        migrations.RunSQL("SET statement_timeout = 0; SET lock_timeout = 0", migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name="event",
            index=models.Index(
                fields=["dedupe_key"], name="event_tells_of", opclasses=("varchar_pattern_ops",)
            ),
        ),
        migrations.RunSQL("RESET statement_timeout; RESET lock_timeout", migrations.RunSQL.noop),
    ]
