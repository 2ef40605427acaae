from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("payments", "0012_evidence")]

    operations = [
        migrations.AddField(
            "payerproof", "head_block", models.BigIntegerField(null=True, blank=True, editable=False)
        ),
        migrations.AddField("payment", "first_block_number", models.BigIntegerField(null=True, blank=True)),
    ]
