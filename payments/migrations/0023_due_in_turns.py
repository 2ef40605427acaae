"""Finding due payments in turns, by chain and merchant; made beside the running service.

Built without a time limit: if interrupted, the index has to be removed by hand.
"""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models import F, Q
from django.db.models.functions import Least


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("payments", "0022_lookup_columns")]

    operations = [
        migrations.RunSQL("SET statement_timeout = 0; SET lock_timeout = 0", migrations.RunSQL.noop),
        AddIndexConcurrently(
            "payment",
            models.Index(
                F("lookup_chain"),
                F("merchant"),
                Least(F("attempts"), 1),
                F("next_check_at"),
                condition=Q(status__in=("pending", "processing"), is_simulated=False)
                & ~Q(is_bridging=True, destination_transaction_hash=""),
                name="payment_due_in_turns",
            ),
        ),
        migrations.RunSQL("RESET statement_timeout; RESET lock_timeout", migrations.RunSQL.noop),
    ]
