"""Finding the refunds that are watched, made beside the running service.

Built without a time limit: if interrupted, the index has to be removed by hand.
"""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("payments", "0035_refund_address_and_watch")]

    operations = [
        migrations.RunSQL("SET statement_timeout = 0; SET lock_timeout = 0", migrations.RunSQL.noop),
        AddIndexConcurrently(
            "refund",
            models.Index(
                fields=["watched_until"], condition=Q(watched_until__isnull=False), name="refund_watched"
            ),
        ),
        migrations.RunSQL("RESET statement_timeout; RESET lock_timeout", migrations.RunSQL.noop),
    ]
