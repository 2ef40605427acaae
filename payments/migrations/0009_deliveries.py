"""What is known of a swap's delivery, beside what is known of the customer's own transaction.

New columns are null or have defaults of the database's own, and no row is read: what bounds the amounts is made valid
for the rows that there are in the next migration.
"""

from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models

import chains.fields
from chains.fields import base_units_constraint


class Migration(migrations.Migration):
    dependencies = [("payments", "0008_swaps")]

    operations = [
        migrations.AddField(
            "payment", "destination_block_number", models.BigIntegerField(blank=True, null=True)
        ),
        migrations.AddField(
            "payment",
            "destination_block_hash",
            models.CharField(blank=True, db_default="", default="", max_length=90),
        ),
        migrations.AddField("payment", "destination_block_time", models.DateTimeField(blank=True, null=True)),
        migrations.AddField(
            "payment", "destination_confirmations", models.PositiveBigIntegerField(blank=True, null=True)
        ),
        migrations.AddField(
            "payment", "reported_amount", chains.fields.BaseUnitsField(blank=True, null=True)
        ),
        AddConstraintNotValid("payment", base_units_constraint("reported_amount", "payment")),
    ]
