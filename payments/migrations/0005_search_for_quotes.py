"""Remember how far a chain was searched for the ids of quotes, and until when each quote is searched for."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("payments", "0004_what_is_simulated")]

    operations = [
        migrations.AddField(
            "discoverycursor", "quotes_next_block", models.BigIntegerField(blank=True, null=True)
        ),
        migrations.AddField(
            "discoverycursor", "quotes_searched_at", models.DateTimeField(blank=True, null=True)
        ),
        migrations.AddField("quote", "watched_until", models.DateTimeField(blank=True, null=True)),
    ]
