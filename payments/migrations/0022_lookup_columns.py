"""Name the merchant and the looked-up chain of each payment, so that due ones can be claimed in turns.

A trigger keeps the two columns, whatever inserts or changes a payment. Only open payments are filled in: the trigger
fills the others in when they are next changed.
"""

import django.db.models.deletion
from django.db import migrations, models

_TRIGGERS = """
CREATE FUNCTION payments_payment_set_lookup() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    SELECT request.merchant_id,
           CASE WHEN NEW.destination_transaction_hash = '' THEN NEW.chain_id ELSE request.chain_id END
    INTO NEW.merchant_id, NEW.lookup_chain_id
    FROM payments_paymentrequest AS request WHERE request.id = NEW.request_id;
    RETURN NEW;
END $$;
CREATE TRIGGER payment_lookup_on_insert BEFORE INSERT ON payments_payment
    FOR EACH ROW EXECUTE FUNCTION payments_payment_set_lookup();
CREATE TRIGGER payment_lookup_on_update BEFORE UPDATE ON payments_payment
    FOR EACH ROW WHEN (
        NEW.merchant_id IS NULL OR NEW.lookup_chain_id IS NULL OR NEW.chain_id <> OLD.chain_id
        OR NEW.destination_transaction_hash <> OLD.destination_transaction_hash
    ) EXECUTE FUNCTION payments_payment_set_lookup();
UPDATE payments_payment SET merchant_id = NULL WHERE status IN ('pending', 'processing');
"""
_NO_TRIGGERS = """
DROP TRIGGER payment_lookup_on_insert ON payments_payment;
DROP TRIGGER payment_lookup_on_update ON payments_payment;
DROP FUNCTION payments_payment_set_lookup();
"""


class Migration(migrations.Migration):

    dependencies = [
        ('chains', '0005_portal_labels'),
        ('merchants', '0011_portal_labels'),
        ('payments', '0021_portal_labels'),
    ]

    operations = [
        migrations.AddField(
            model_name='payment',
            name='lookup_chain',
            field=models.ForeignKey(db_constraint=False, db_index=False, editable=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='chains.chain'),
        ),
        migrations.AddField(
            model_name='payment',
            name='merchant',
            field=models.ForeignKey(db_constraint=False, db_index=False, editable=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='merchants.merchant'),
        ),
        migrations.RunSQL(_TRIGGERS, _NO_TRIGGERS),
    ]
