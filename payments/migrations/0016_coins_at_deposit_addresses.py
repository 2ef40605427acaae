"""Credit native coin that arrives at deposit addresses.

All columns are nullable or have a constant default, so that no table is rewritten. The check on lookups is not validated:
validating it would read the whole table under a lock, and the column of existing rows is null.
"""

import chains.fields
from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("chains", "0002_finality_tags"),
        ("merchants", "0005_deposit_addresses"),
        ("payments", "0015_waiting_arrivals"),
    ]

    operations = [
        migrations.AddField(
            model_name="depositaddress",
            name="swept",
            field=chains.fields.BaseUnitsField(db_default=0, default=0, editable=False),
        ),
        migrations.AddField(
            model_name="depositaddress",
            name="waiting_block",
            field=models.BigIntegerField(blank=True, editable=False, null=True),
        ),
        migrations.AddField(
            model_name="depositaddress",
            name="waiting_hash",
            field=models.CharField(blank=True, db_default="", default="", editable=False, max_length=90),
        ),
        migrations.AddField(
            model_name="depositaddress",
            name="waiting_received",
            field=chains.fields.BaseUnitsField(blank=True, editable=False, null=True),
        ),
        migrations.AddField(
            model_name="discoverycursor",
            name="coins_next_block",
            field=models.BigIntegerField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="discoverycursor",
            name="coins_read_block",
            field=models.BigIntegerField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="discoverycursor",
            name="coins_searched_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="lookup",
            name="received",
            field=chains.fields.BaseUnitsField(blank=True, editable=False, null=True),
        ),
        migrations.AddField(
            model_name="payment",
            name="deposit_sequence",
            field=models.PositiveIntegerField(blank=True, editable=False, null=True),
        ),
        migrations.AlterField(
            model_name="payment",
            name="transaction_hash",
            field=models.CharField(blank=True, max_length=90, null=True),
        ),
        migrations.AddConstraint(
            model_name="depositaddress",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("swept__gte", 0),
                        (
                            "swept__lte",
                            115792089237316195423570985008687907853269984665640564039457584007913129639935,
                        ),
                    ),
                    ("swept__isnull", True),
                    _connector="OR",
                ),
                name="deposit_address_swept_is_uint256",
            ),
        ),
        migrations.AddConstraint(
            model_name="depositaddress",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("waiting_received__gte", 0),
                        (
                            "waiting_received__lte",
                            115792089237316195423570985008687907853269984665640564039457584007913129639935,
                        ),
                    ),
                    ("waiting_received__isnull", True),
                    _connector="OR",
                ),
                name="deposit_address_waiting_received_is_uint256",
            ),
        ),
        AddConstraintNotValid(
            model_name="lookup",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("received__gte", 0),
                        (
                            "received__lte",
                            115792089237316195423570985008687907853269984665640564039457584007913129639935,
                        ),
                    ),
                    ("received__isnull", True),
                    _connector="OR",
                ),
                name="lookup_received_is_uint256",
            ),
        ),
    ]
