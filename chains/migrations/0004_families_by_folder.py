from django.db import migrations, models

from chains import families


class Migration(migrations.Migration):
    """The families are those whose folders are there; a new one needs no migration. Changes nothing in the database."""

    dependencies = [("chains", "0003_chain_wallet_rpc_url")]

    operations = [
        migrations.AlterField(
            model_name="chain",
            name="chain_type",
            field=models.CharField(choices=families.choices, max_length=16),
        ),
    ]
