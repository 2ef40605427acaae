from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("chains", "0001_release_0_2_0")]

    operations = [
        migrations.AddField(
            model_name="chain",
            name="confirmations_fallback",
            field=models.PositiveIntegerField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="chainstatus",
            name="finality_block",
            field=models.BigIntegerField(null=True),
        ),
        migrations.AddField(
            model_name="chainstatus",
            name="finality_since",
            field=models.DateTimeField(null=True),
        ),
    ]
