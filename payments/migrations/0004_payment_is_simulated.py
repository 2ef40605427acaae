"""Mark what the sandbox made. The default is the database's own, so that the column is added without a rewrite and
processes of the release before can go on inserting."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("payments", "0003_figures_indexes"),
    ]

    operations = [
        migrations.AddField(
            model_name="payment",
            name="is_simulated",
            field=models.BooleanField(db_default=False, default=False, editable=False),
        ),
    ]
