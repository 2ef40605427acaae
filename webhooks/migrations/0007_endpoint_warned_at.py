from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [("webhooks", "0006_due_by_merchant")]

    operations = [
        migrations.AddField(
            model_name="endpoint", name="warned_at", field=models.DateTimeField(editable=False, null=True)
        ),
    ]
