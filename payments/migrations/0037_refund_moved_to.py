"""Which refund an earlier address belongs to. The column may be null, so the table is not rewritten."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("payments", "0036_refund_watched_index")]

    operations = [
        migrations.AddField(
            model_name="refund",
            name="moved_to",
            field=models.ForeignKey(
                blank=True,
                db_index=False,
                editable=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="payments.refund",
            ),
        ),
    ]
