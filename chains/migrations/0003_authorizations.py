from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("chains", "0002_finality_tags")]

    operations = [
        migrations.AddField(
            model_name="token",
            name="authorization",
            field=models.JSONField(blank=True, editable=False, null=True),
        ),
    ]
