"""Store that `payment.succeeded` was sent for a cancelled request.

Adding the column takes no time. The next migration marks existing requests in a transaction of its own, so that the
table isn't locked meanwhile.
"""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("payments", "0022_postponed_relays")]

    operations = [
        migrations.AddField(
            "paymentrequest",
            "success_sent",
            models.BooleanField(db_default=False, default=False, editable=False),
        ),
    ]
