from django.db import migrations, models

from payments.models.payment import FailureCode

_NO_TEXT = {"blank": True, "default": "", "db_default": ""}


class Migration(migrations.Migration):
    """New columns only, each with a constant default of the database's own: no table is rewritten."""

    dependencies = [("payments", "0011_payment_links")]

    operations = [
        migrations.AddField("payment", "submitter", models.CharField(max_length=64, editable=False, **_NO_TEXT)),
        migrations.AddField("payment", "seen_at", models.DateTimeField(null=True, blank=True)),
        migrations.AddField("payment", "is_bound_unmined", models.BooleanField(default=False, db_default=False)),
        migrations.AddField("payment", "first_block_time", models.DateTimeField(null=True, blank=True)),
        migrations.AddField("payment", "effect", models.CharField(max_length=66, **_NO_TEXT)),
        migrations.AddField(
            "payment", "replaced_hashes", models.JSONField(default=list, db_default=[], blank=True)
        ),
        migrations.AddField(
            "payment",
            "likely_failure",
            models.CharField(max_length=32, choices=FailureCode.choices, **_NO_TEXT),
        ),
        migrations.AddField("consumedtransfer", "account", models.CharField(max_length=64, **_NO_TEXT)),
        migrations.AddField(
            "paymentrequest",
            "unbound_failure_sent",
            models.BooleanField(default=False, db_default=False, editable=False),
        ),
    ]
