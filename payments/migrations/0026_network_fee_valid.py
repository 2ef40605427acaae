"""Validate the network fee's limits, without a time limit and beside the running service."""

from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations

from chains.fields import base_units_constraint


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("payments", "0025_network_fee")]

    operations = [
        migrations.RunSQL("SET statement_timeout = 0; SET lock_timeout = 0", migrations.RunSQL.noop),
        ValidateConstraint("payment", base_units_constraint("network_fee", "payment").name),
        migrations.RunSQL("RESET statement_timeout; RESET lock_timeout", migrations.RunSQL.noop),
    ]
