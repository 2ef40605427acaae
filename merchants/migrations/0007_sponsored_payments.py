from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("merchants", "0006_contract_recipients")]

    operations = [
        migrations.AddField(
            model_name="merchant",
            name="sponsored_payments",
            field=models.BooleanField(
                db_default=True,
                default=True,
                help_text=(
                    "If the operator pays network fees, customers can sign a transfer of some tokens instead of sending "
                    "it, and need no coin for the fee."
                ),
            ),
        ),
    ]
