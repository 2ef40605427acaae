from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("chains", "0009_switches")]

    operations = [
        migrations.AddField(
            "chain",
            "l1_fee_oracle",
            models.CharField(
                blank=True, db_default="", default="", max_length=64, verbose_name="data fee oracle"
            ),
        ),
        migrations.AddField(
            "chain",
            "min_tip_wei",
            models.PositiveBigIntegerField(db_default=0, default=0, verbose_name="minimum tip (wei)"),
        ),
    ]
