"""Finding the requests of simulated payments, made beside the running service.

Built without a time limit: if interrupted, the index has to be removed by hand.
"""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("payments", "0019_names_in_the_portal")]

    operations = [
        migrations.RunSQL("SET statement_timeout = 0; SET lock_timeout = 0", migrations.RunSQL.noop),
        AddIndexConcurrently(
            "payment",
            models.Index(fields=["request"], condition=Q(is_simulated=True), name="payment_simulated"),
        ),
        migrations.RunSQL("RESET statement_timeout; RESET lock_timeout", migrations.RunSQL.noop),
    ]
