"""Store the network fees of sponsored payments by day. Few relays exist yet, so their index is built at once."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("chains", "0003_authorizations"),
        ("merchants", "0007_sponsored_payments"),
        ("payments", "0020_sponsored_on_solana"),
    ]

    operations = [
        migrations.CreateModel(
            name="DailyFees",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("day", models.DateField()),
                (
                    "merchant",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="merchants.merchant",
                    ),
                ),
                (
                    "chain",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="chains.chain"
                    ),
                ),
                ("payments", models.PositiveIntegerField()),
                ("saved", models.DecimalField(decimal_places=0, max_digits=96)),
                ("spent", models.DecimalField(decimal_places=0, max_digits=96)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("merchant", "day", "chain"), name="daily_fees_of_a_merchant"
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("merchant", None)),
                        fields=("day", "chain"),
                        name="daily_fees_of_all",
                    ),
                ],
            },
        ),
        migrations.AddIndex(
            model_name="relay",
            index=models.Index(
                condition=models.Q(("ended_at__isnull", False)), fields=["ended_at"], name="relay_ended"
            ),
        ),
    ]
