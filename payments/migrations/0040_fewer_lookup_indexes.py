"""Drop the indexes that Django makes for searches by the beginning of an id, which no look-up or swap is found by."""

from django.db import migrations


def _dropped(table: str, column: str, digest: str) -> migrations.RunSQL:
    index = f"payments_{table}_{column}_{digest}_like"
    return migrations.RunSQL(
        f"DROP INDEX IF EXISTS {index}",
        f"CREATE INDEX IF NOT EXISTS {index} ON payments_{table} ({column} varchar_pattern_ops)",
    )


class Migration(migrations.Migration):
    dependencies = [("payments", "0039_lookup")]

    operations = [
        _dropped("lookup", "of_payment_id", "85c49ea8"),
        _dropped("lookup", "of_swap_id", "3ac87cda"),
        _dropped("swap", "payment_id", "f2029909"),
    ]
