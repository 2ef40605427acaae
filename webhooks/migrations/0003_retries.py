"""Mark deliveries whose last attempt failed. Workers mark each delivery at its next failure.

PostgreSQL adds a column with a constant default without writing the table.
"""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("webhooks", "0002_no_prefix_indexes")]

    operations = [
        migrations.AddField(
            model_name="delivery",
            name="is_retry",
            field=models.BooleanField(db_default=False, default=False, editable=False),
        ),
    ]
