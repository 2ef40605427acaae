from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("payments", "0012_accounts_of_a_proposal")]

    operations = [
        migrations.AddField(
            model_name="paymentrequest",
            name="receipts_mailed",
            field=models.PositiveSmallIntegerField(db_default=0, default=0, editable=False),
        )
    ]
