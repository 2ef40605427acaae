"""Finding the requests that ended lately, made beside the running service.

Built without a time limit: if interrupted, the index has to be removed by hand.
"""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models.functions import Greatest


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("payments", "0015_merchant_cursors")]

    operations = [
        migrations.RunSQL("SET statement_timeout = 0; SET lock_timeout = 0", migrations.RunSQL.noop),
        AddIndexConcurrently(
            "paymentrequest",
            models.Index(Greatest("completed_at", "expired_at", "cancelled_at"), name="payment_request_ended"),
        ),
        migrations.RunSQL("RESET statement_timeout; RESET lock_timeout", migrations.RunSQL.noop),
    ]
