"""Announce changes of chains and tokens, by triggers, to the processes that keep copies (`config.database.process_cache`)."""

from django.db import migrations

_FUNCTION = """
CREATE OR REPLACE FUNCTION quittance_notify_settings() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('quittance_settings', TG_TABLE_NAME);
    RETURN NULL;
END $$
"""
# New tokens are in no copy: an ID that is unknown is looked up each time.
_EVENTS = {
    "chains_chain": "INSERT OR UPDATE OR DELETE OR TRUNCATE",
    "chains_token": "UPDATE OR DELETE OR TRUNCATE",
}


class Migration(migrations.Migration):
    dependencies = [("chains", "0005_portal_labels")]

    operations = [
        migrations.RunSQL(_FUNCTION, "DROP FUNCTION quittance_notify_settings()"),
        *(
            migrations.RunSQL(
                f"CREATE TRIGGER quittance_notify_settings AFTER {events} ON {table}"
                " FOR EACH STATEMENT EXECUTE FUNCTION quittance_notify_settings()",
                f"DROP TRIGGER quittance_notify_settings ON {table}",
            )
            for table, events in _EVENTS.items()
        ),
    ]
