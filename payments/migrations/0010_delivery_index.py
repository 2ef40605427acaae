"""Finding payments by their delivery, made beside the running service.

Built without a time limit: broken off, the index would have to be removed by hand.
"""

from django.contrib.postgres.operations import AddIndexConcurrently, ValidateConstraint
from django.db import migrations, models
from django.db.models import Q

from chains.fields import base_units_constraint


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("payments", "0009_deliveries")]

    operations = [
        migrations.RunSQL("SET statement_timeout = 0; SET lock_timeout = 0", migrations.RunSQL.noop),
        ValidateConstraint("payment", base_units_constraint("reported_amount", "payment").name),
        AddIndexConcurrently(
            "payment",
            models.Index(
                fields=["destination_transaction_hash"],
                condition=~Q(destination_transaction_hash=""),
                name="payment_delivery_hash",
            ),
        ),
        migrations.RunSQL("RESET statement_timeout; RESET lock_timeout", migrations.RunSQL.noop),
    ]
