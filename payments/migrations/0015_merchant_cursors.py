import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    """A new table, and new columns with constant defaults: no row is read or rewritten.

    The chains' own cursors stay. Their positions are where merchants without a cursor of their own begin.
    """

    dependencies = [
        ("chains", "0003_chain_wallet_rpc_url"),
        ("merchants", "0001_initial"),
        ("payments", "0014_holding"),
    ]

    operations = [
        migrations.AddField("discoverycursor", "searched_at", models.DateTimeField(null=True, blank=True)),
        migrations.AddField(
            "discoverycursor", "merchants_at_once", models.PositiveIntegerField(null=True, blank=True)
        ),
        migrations.AddField(
            "discoverycursor", "watches", models.PositiveIntegerField(default=0, db_default=0)
        ),
        migrations.CreateModel(
            name="MerchantCursor",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("next_block", models.BigIntegerField(blank=True, null=True)),
                ("searched_at", models.DateTimeField(blank=True, null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("turn_at", models.DateTimeField(blank=True, null=True)),
                ("until_block", models.BigIntegerField(blank=True, null=True)),
                ("after", models.UUIDField(blank=True, null=True)),
                ("pass_head", models.BigIntegerField(blank=True, null=True)),
                ("pass_began_at", models.DateTimeField(blank=True, null=True)),
                ("is_alone", models.BooleanField(default=False)),
                (
                    "chain",
                    models.ForeignKey(
                        on_delete=models.CASCADE, related_name="+", to="chains.chain"
                    ),
                ),
                (
                    "merchant",
                    models.ForeignKey(
                        on_delete=models.CASCADE, related_name="+", to="merchants.merchant"
                    ),
                ),
            ],
        ),
        migrations.AddConstraint(
            "merchantcursor",
            models.UniqueConstraint(fields=("chain", "merchant"), name="merchant_cursor_is_one_per_chain"),
        ),
    ]
