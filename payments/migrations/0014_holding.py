from django.db import migrations, models


class Migration(migrations.Migration):
    """One new column that may be null: no table is rewritten."""

    dependencies = [("payments", "0013_proof_heights")]

    operations = [
        migrations.AddField(
            "payment", "held_from", models.DateTimeField(null=True, blank=True, editable=False)
        ),
    ]
