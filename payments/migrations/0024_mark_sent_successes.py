"""Mark the cancelled requests for which `payment.succeeded` may have been sent.

The event was sent only if the payments reached the amount. Refunds may have prevented it, and events are deleted after
30 days. So this also marks a few requests without the event: its absence is safer than a second one. The condition
includes the one of the partial index `payment_request_partly_paid`.
"""

from django.db import migrations

_MARK = """
    UPDATE payments_paymentrequest SET success_sent = TRUE
    WHERE status = 'cancelled' AND amount_paid > 0 AND amount_paid >= amount
"""


class Migration(migrations.Migration):
    dependencies = [("payments", "0023_success_sent")]

    operations = [migrations.RunSQL(_MARK, migrations.RunSQL.noop)]
