"""Quotes behind swap routes, and how far a swap's payment has come.

New columns have defaults of the database's own or are null, so that nothing is rewritten and processes of the release
before can go on inserting.
"""

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models
from django.db.models import Q

import chains.fields
from chains.fields import base_units_constraint


class Migration(migrations.Migration):
    dependencies = [("chains", "0002_chain_status"), ("payments", "0007_attention_indexes")]

    operations = [
        migrations.AddField("route", "amount_due", chains.fields.BaseUnitsField(blank=True, null=True)),
        migrations.AddField("route", "details", models.JSONField(blank=True, db_default={}, default=dict)),
        migrations.AddField(
            "route", "provider", models.CharField(blank=True, db_default="", default="", max_length=32)
        ),
        migrations.AddConstraint("route", base_units_constraint("amount_due", "route")),
        migrations.CreateModel(
            name="Quote",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("provider", models.CharField(max_length=32)),
                ("provider_quote_id", models.CharField(blank=True, max_length=200)),
                ("bound_by", models.BinaryField(max_length=32)),
                ("amount_in", chains.fields.BaseUnitsField()),
                ("amount_out", chains.fields.BaseUnitsField()),
                ("amount_out_min", chains.fields.BaseUnitsField()),
                ("spender", models.CharField(blank=True, max_length=64)),
                ("must_reset_approval", models.BooleanField(default=False)),
                ("action", models.JSONField()),
                ("tracking", models.JSONField(default=dict)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("built_at", models.DateTimeField(blank=True, null=True)),
                (
                    "route",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="quotes", to="payments.route"
                    ),
                ),
            ],
            options={
                "ordering": ("-created_at", "-id"),
                "constraints": [
                    models.UniqueConstraint(fields=("bound_by",), name="quote_id_binds_one_quote"),
                    base_units_constraint("amount_in", "quote"),
                    base_units_constraint("amount_out", "quote"),
                    base_units_constraint("amount_out_min", "quote"),
                    models.CheckConstraint(
                        condition=Q(amount_in__gt=0, amount_out_min__gt=0), name="quote_moves_something"
                    ),
                ],
            },
        ),
        migrations.AddField(
            "payment",
            "quote",
            models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="payments",
                to="payments.quote",
            ),
        ),
        migrations.AddField("payment", "is_bridging", models.BooleanField(db_default=False, default=False)),
        migrations.AddField("payment", "bridge_looks", models.PositiveIntegerField(db_default=0, default=0)),
        migrations.AddField(
            "payment",
            "provider_url",
            models.CharField(blank=True, db_default="", default="", max_length=500),
        ),
    ]
