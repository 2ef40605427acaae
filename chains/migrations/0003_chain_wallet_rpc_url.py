"""The public node that a customer's wallet may be told of."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("chains", "0002_chain_status")]

    operations = [
        migrations.AddField(
            "chain", "wallet_rpc_url", models.CharField(blank=True, db_default="", default="", max_length=500)
        ),
    ]
