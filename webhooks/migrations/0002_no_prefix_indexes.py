"""Drop the indexes that Django makes for searches by the beginning of an id: no query makes such a search.

By a migration of its own: Django makes them at the end of the one that makes the tables.
"""

from django.db import migrations

_INDEXES = {
    "webhooks_delivery_event_id_b6f5af91_like": "webhooks_delivery (event_id varchar_pattern_ops)",
    "webhooks_delivery_id_b47d672f_like": "webhooks_delivery (id varchar_pattern_ops)",
    "webhooks_event_id_136b0861_like": "webhooks_event (id varchar_pattern_ops)",
}


class Migration(migrations.Migration):
    # After the one of `payments`, which stops if the database is older than the baseline.
    dependencies = [("webhooks", "0001_release_0_2_0"), ("payments", "0002_no_prefix_indexes")]

    operations = [
        migrations.RunSQL(f"DROP INDEX IF EXISTS {name}", f"CREATE INDEX {name} ON {place}")
        for name, place in _INDEXES.items()
    ]
