from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("payments", "0010_delivery_index")]

    operations = [
        migrations.AddField(
            model_name="paymentrequest",
            name="link_shown_at",
            field=models.DateTimeField(editable=False, null=True),
        ),
    ]
