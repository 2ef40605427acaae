"""Drop the indexes that Django makes for searches by the beginning of an id: no query makes such a search.

By a migration of its own: Django makes them at the end of the one that makes the tables.
"""

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

_INDEXES = {
    "payments_consumedtransfer_payment_id_39475192_like": "payments_consumedtransfer (payment_id varchar_pattern_ops)",
    "payments_lookup_of_payment_id_85c49ea8_like": "payments_lookup (of_payment_id varchar_pattern_ops)",
    "payments_lookup_of_swap_id_3ac87cda_like": "payments_lookup (of_swap_id varchar_pattern_ops)",
    "payments_payerproof_route_id_d830bdf3_like": "payments_payerproof (route_id varchar_pattern_ops)",
    "payments_quote_route_id_de89e35d_like": "payments_quote (route_id varchar_pattern_ops)",
    "payments_route_id_8a41eb3a_like": "payments_route (id varchar_pattern_ops)",
    "payments_swap_payment_id_f2029909_like": "payments_swap (payment_id varchar_pattern_ops)",
}


def require_baseline(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:  # noqa: ARG001 - Django's interface
    """Stop if the database has only some of the migrations that the baseline replaces: Django would skip the others."""
    with editor.connection.cursor() as cursor:
        tables = editor.connection.introspection.table_names(cursor)
    if "payments_lookup" not in tables:
        raise RuntimeError(
            "This database is older than the baseline 0.2.0. Migrate it with commit a584b5e6 first "
            "(docs/releases/0.2.0.md)."
        )


class Migration(migrations.Migration):
    dependencies = [("payments", "0001_release_0_2_0")]

    operations = [
        migrations.RunPython(require_baseline, migrations.RunPython.noop),
        *(
            migrations.RunSQL(f"DROP INDEX IF EXISTS {name}", f"CREATE INDEX {name} ON {place}")
            for name, place in _INDEXES.items()
        ),
    ]
