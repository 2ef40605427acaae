"""What reorganised payments take from a request, and payments after the price. The defaults are the database's."""

from django.db import migrations, models

import chains.fields


class Migration(migrations.Migration):
    dependencies = [("payments", "0032_refund_built_at")]

    operations = [
        migrations.AddField(
            model_name="paymentrequest",
            name="amount_reorged",
            field=chains.fields.BaseUnitsField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name="paymentrequest",
            name="late_price_mail_at",
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name="payment",
            name="after_price",
            field=models.BooleanField(db_default=False, default=False, editable=False),
        ),
    ]
