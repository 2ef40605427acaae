from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [("webhooks", "0008_fewer_indexes")]

    operations = [
        migrations.AddField(
            model_name="endpoint",
            name="older_secrets",
            field=models.JSONField(db_default=[], default=list, editable=False),
        ),
    ]
