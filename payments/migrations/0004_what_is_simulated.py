"""Mark the payment requests of which the sandbox simulated a payment.

Adding the column takes no time. The index is small: it has the marked requests alone.
"""

from django.db import migrations, models

_MARK = """
    UPDATE payments_paymentrequest SET is_simulated = TRUE
    WHERE id IN (SELECT request_id FROM payments_payment WHERE is_simulated)
"""


class Migration(migrations.Migration):
    dependencies = [("payments", "0003_proofs_afterwards")]

    operations = [
        migrations.AddField(
            "paymentrequest",
            "is_simulated",
            models.BooleanField(default=False, db_default=False, editable=False),
        ),
        migrations.RunSQL(_MARK, migrations.RunSQL.noop),
        migrations.AddIndex(
            "paymentrequest",
            models.Index(
                fields=("merchant", "-created_at", "-id"),
                condition=models.Q(is_simulated=True),
                name="payment_request_simulated",
            ),
        ),
        # It found the simulated payments of a request, which the column does now.
        migrations.RemoveIndex("payment", "payment_simulated"),
    ]
