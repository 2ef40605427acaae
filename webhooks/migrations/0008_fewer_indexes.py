"""Drop the indexes that another one begins with: each costs a write whenever a delivery moves."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [("webhooks", "0007_endpoint_warned_at")]

    operations = [
        migrations.AlterField(
            "attempt",
            "delivery",
            models.ForeignKey(
                db_index=False, on_delete=django.db.models.deletion.CASCADE, to="webhooks.delivery"
            ),
        ),
        migrations.AlterField(
            "delivery",
            "merchant",
            models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="webhook_deliveries",
                to="merchants.merchant",
            ),
        ),
        migrations.AlterField(
            "event",
            "merchant",
            models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="events",
                to="merchants.merchant",
            ),
        ),
        # Django makes these for prefix searches, which are never made by an event's id.
        migrations.RunSQL(
            "DROP INDEX IF EXISTS webhooks_delivery_event_id_b6f5af91_like",
            "CREATE INDEX webhooks_delivery_event_id_b6f5af91_like"
            " ON webhooks_delivery (event_id varchar_pattern_ops)",
        ),
    ]
