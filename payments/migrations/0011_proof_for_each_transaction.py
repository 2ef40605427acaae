"""Let a wallet prove its transfer again after its payment continued with another transaction.

The new constraint holds for every row that met the old one.
"""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("payments", "0010_indexes_of_payment_links")]

    operations = [
        migrations.AddConstraint(
            model_name="transferproof",
            constraint=models.UniqueConstraint(
                fields=("payment", "transaction_hash", "address"),
                condition=models.Q(verified_at__isnull=False),
                name="transfer_proof_is_one_per_transaction_and_wallet",
            ),
        ),
        migrations.RemoveConstraint(
            model_name="transferproof", name="transfer_proof_is_one_per_payment_and_wallet"
        ),
    ]
