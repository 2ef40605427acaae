from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("payments", "0021_fees_of_sponsored_payments")]

    operations = [
        migrations.AddField(
            model_name="authorization",
            name="postponed_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
    ]
