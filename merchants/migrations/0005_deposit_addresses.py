from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("merchants", "0004_mail")]

    operations = [
        migrations.AddField(
            model_name="merchant",
            name="deposit_addresses",
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text=(
                    "On EVM chains, customers can send to an address of the payment request from any wallet or "
                    "exchange. What arrives there can only be moved to the request’s recipient, by a transaction that "
                    "you send."
                ),
            ),
        )
    ]
