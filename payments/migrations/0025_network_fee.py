"""What a payment's sender paid the network. The column may be null, so no row is rewritten or read."""

from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations

import chains.fields
from chains.fields import base_units_constraint


class Migration(migrations.Migration):
    dependencies = [("payments", "0024_fewer_indexes")]

    operations = [
        migrations.AddField(
            "payment", "network_fee", chains.fields.BaseUnitsField(null=True, blank=True, editable=False)
        ),
        AddConstraintNotValid("payment", base_units_constraint("network_fee", "payment")),
    ]
