"""Let the id of a proposal be searched for with several accounts.

The new column is null in every row, so PostgreSQL adds it without reading the table.
"""

import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("payments", "0011_proof_for_each_transaction")]

    operations = [
        migrations.AddField(
            model_name="lookup",
            name="further_accounts",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(max_length=64), blank=True, null=True, size=None
            ),
        ),
    ]
