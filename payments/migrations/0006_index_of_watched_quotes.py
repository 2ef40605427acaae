"""Index the quotes to search for, without blocking writes."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("payments", "0005_search_for_quotes")]

    operations = [
        AddIndexConcurrently(
            model_name="quote",
            index=models.Index(
                fields=("watched_until",),
                condition=models.Q(watched_until__isnull=False),
                name="quote_watched_until",
            ),
        ),
    ]
