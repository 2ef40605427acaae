"""What goes to a request's own URL is found among any number of deliveries that a disabled endpoint holds back.

Built beside the running service, without a time limit: broken off, the index would have to be removed by hand.
"""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("webhooks", "0009_older_secrets")]

    operations = [
        migrations.RunSQL("SET statement_timeout = 0; SET lock_timeout = 0", migrations.RunSQL.noop),
        AddIndexConcurrently(
            "delivery",
            models.Index(
                fields=("merchant", "due_at", "id"),
                condition=models.Q(("status", "pending"), models.Q(("url_override", ""), _negated=True)),
                name="delivery_due_at_own_url",
            ),
        ),
        migrations.RunSQL("RESET statement_timeout; RESET lock_timeout", migrations.RunSQL.noop),
    ]
