"""The public node that may be given to a customer's wallet."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("chains", "0002_chain_status")]

    operations = [
        migrations.AddField(
            "chain", "wallet_rpc_url", models.CharField(blank=True, db_default="", default="", max_length=500)
        ),
    ]
