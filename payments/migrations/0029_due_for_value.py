"""Finding the payments that are to be valued, made beside the running service.

Built without a time limit: if interrupted, the index has to be removed by hand.
"""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("payments", "0028_payment_value")]

    operations = [
        migrations.RunSQL("SET statement_timeout = 0; SET lock_timeout = 0", migrations.RunSQL.noop),
        AddIndexConcurrently(
            "payment",
            models.Index(
                fields=["value_due_at"], condition=Q(value_due_at__isnull=False), name="payment_due_for_value"
            ),
        ),
        migrations.RunSQL("RESET statement_timeout; RESET lock_timeout", migrations.RunSQL.noop),
    ]
