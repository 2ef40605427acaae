"""The merchant's e-mail address also gets what needs a decision. Only the help text changes."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("merchants", "0016_create_refunds")]

    operations = [
        migrations.AlterField(
            "merchant",
            "email",
            models.EmailField(
                blank=True,
                max_length=254,
                help_text="For warnings about failing webhooks and payments that need a decision.",
            ),
        ),
    ]
