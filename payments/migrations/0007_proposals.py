"""Add what a look-up keeps of a transaction whose id the wallet returned instead of a hash."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("payments", "0006_index_of_watched_quotes")]

    operations = [
        migrations.AddField(
            model_name="lookup",
            name="proposal_id",
            field=models.CharField(blank=True, db_default="", default="", max_length=66),
        ),
        migrations.AddField(
            model_name="lookup",
            name="proposal_account",
            field=models.CharField(blank=True, db_default="", default="", max_length=64),
        ),
        migrations.AddField(
            model_name="lookup",
            name="proposal_check_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="lookup",
            name="proposal_block",
            field=models.BigIntegerField(blank=True, null=True),
        ),
    ]
