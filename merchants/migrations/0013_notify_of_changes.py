"""Announce changes of merchants by triggers, and check recipients under the lock of their list.

`config.database.process_cache` keeps copies of merchants and of their allowed recipients. New merchants are in no copy.
"""

from django.db import migrations

_TRIGGER = (
    "CREATE TRIGGER quittance_notify_settings AFTER {events} ON {table}"
    " FOR EACH STATEMENT EXECUTE FUNCTION quittance_notify_settings()"
)
# Each statement of a volatile function sees what was committed before it, also while it waited for the lock. The number
# is the one of merchants.recipients.
_IS_ALLOWED = """
CREATE FUNCTION quittance_is_allowed_recipient(merchant uuid, family text, recipient text)
RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(24940, hashtext(merchant::text));
    RETURN NOT EXISTS (SELECT FROM merchants_allowedrecipient WHERE merchant_id = merchant)
        OR EXISTS (
            SELECT FROM merchants_allowedrecipient
            WHERE merchant_id = merchant AND chain_type = family AND address = recipient
        );
END $$
"""


class Migration(migrations.Migration):
    dependencies = [("merchants", "0012_security_log_label"), ("chains", "0006_notify_of_changes")]

    operations = [
        migrations.RunSQL(
            _TRIGGER.format(table="merchants_merchant", events="UPDATE OR DELETE OR TRUNCATE"),
            "DROP TRIGGER quittance_notify_settings ON merchants_merchant",
        ),
        migrations.RunSQL(
            _TRIGGER.format(
                table="merchants_allowedrecipient", events="INSERT OR UPDATE OR DELETE OR TRUNCATE"
            ),
            "DROP TRIGGER quittance_notify_settings ON merchants_allowedrecipient",
        ),
        migrations.RunSQL(
            _IS_ALLOWED, "DROP FUNCTION quittance_is_allowed_recipient(uuid, text, text)"
        ),
    ]
