"""The tables of `chains` as of release 0.2.0, and triggers that announce changes of the catalogue.

Processes keep copies of chains and tokens (`config.database.process_cache`); a notification makes them read again.
"""

import chains.families
import django.contrib.postgres.fields
import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

_ANNOUNCE = """
CREATE FUNCTION quittance_notify_settings() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('quittance_settings', TG_TABLE_NAME);
    RETURN NULL;
END $$
"""
_TRIGGER = (
    "CREATE TRIGGER quittance_notify_settings AFTER {events} ON {table}"
    " FOR EACH STATEMENT EXECUTE FUNCTION quittance_notify_settings()"
)
# New tokens are in no copy: an ID that is unknown is looked up each time.
_EVENTS = {
    "chains_chain": "INSERT OR UPDATE OR DELETE OR TRUNCATE",
    "chains_token": "UPDATE OR DELETE OR TRUNCATE",
    "chains_switch": "INSERT OR UPDATE OR DELETE OR TRUNCATE",
}


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("chains", "0001_initial"),
        ("chains", "0002_chain_status"),
        ("chains", "0003_chain_wallet_rpc_url"),
        ("chains", "0004_families_by_folder"),
        ("chains", "0005_portal_labels"),
        ("chains", "0006_notify_of_changes"),
        ("chains", "0007_ws_urls"),
        ("chains", "0008_price_feeds"),
        ("chains", "0009_switches"),
        ("chains", "0010_fees"),
    ]
    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Chain",
            fields=[
                ("id", models.BigIntegerField(primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=100)),
                ("chain_type", models.CharField(choices=chains.families.choices, max_length=16)),
                ("network", models.CharField(blank=True, default="", max_length=32)),
                ("is_active", models.BooleanField(default=True, verbose_name="active")),
                (
                    "rpc_urls",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=500), blank=True, default=list, size=None
                    ),
                ),
                (
                    "ws_urls",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=500),
                        blank=True,
                        db_default=[],
                        default=list,
                        size=None,
                        verbose_name="WebSocket URLs",
                    ),
                ),
                (
                    "wallet_rpc_url",
                    models.CharField(
                        blank=True, db_default="", default="", max_length=500, verbose_name="wallet RPC URL"
                    ),
                ),
                (
                    "explorer_url",
                    models.CharField(blank=True, default="", max_length=500, verbose_name="explorer URL"),
                ),
                ("native_symbol", models.CharField(max_length=16)),
                ("confirmations", models.CharField(default="finalized", max_length=16)),
                ("block_time_ms", models.PositiveIntegerField(default=2000)),
                ("routers", models.JSONField(blank=True, default=dict)),
                (
                    "feeds",
                    models.JSONField(blank=True, db_default=[], default=list, verbose_name="price feeds"),
                ),
                (
                    "l1_fee_oracle",
                    models.CharField(
                        blank=True, db_default="", default="", max_length=64, verbose_name="data fee oracle"
                    ),
                ),
                (
                    "min_tip_wei",
                    models.PositiveBigIntegerField(db_default=0, default=0, verbose_name="minimum tip (wei)"),
                ),
            ],
            options={
                "ordering": ("id",),
            },
        ),
        migrations.CreateModel(
            name="Switch",
            fields=[
                ("name", models.CharField(editable=False, max_length=64, primary_key=True, serialize=False)),
                ("off_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("actor", models.CharField(editable=False, max_length=150)),
                ("reason", models.CharField(editable=False, max_length=200)),
            ],
            options={
                "verbose_name": "kill switch",
                "verbose_name_plural": "kill switches",
                "ordering": ("name",),
            },
        ),
        migrations.CreateModel(
            name="ChainStatus",
            fields=[
                (
                    "chain",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="last_status",
                        serialize=False,
                        to="chains.chain",
                    ),
                ),
                ("looked_at", models.DateTimeField()),
                ("head", models.BigIntegerField(null=True)),
                ("head_since", models.DateTimeField(null=True)),
                ("nodes", models.JSONField(default=list)),
            ],
        ),
        migrations.CreateModel(
            name="Token",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("symbol", models.CharField(max_length=32)),
                ("name", models.CharField(max_length=100)),
                ("decimals", models.PositiveSmallIntegerField()),
                ("contract_address", models.CharField(blank=True, max_length=64)),
                ("is_active", models.BooleanField(default=True, verbose_name="active")),
                (
                    "tags",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=32), blank=True, default=list, size=None
                    ),
                ),
                ("trailing_data", models.BooleanField(default=True)),
                (
                    "price_as",
                    models.CharField(
                        blank=True, db_default="", default="", max_length=16, verbose_name="priced as"
                    ),
                ),
                (
                    "chain",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="tokens", to="chains.chain"
                    ),
                ),
            ],
            options={
                "ordering": ("id",),
                "constraints": [
                    models.UniqueConstraint(
                        fields=("chain", "contract_address"), name="token_is_one_per_chain_and_address"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("decimals__lte", 36)), name="token_decimals_are_sane"
                    ),
                ],
            },
        ),
        migrations.RunSQL(_ANNOUNCE, "DROP FUNCTION quittance_notify_settings()"),
        *(
            migrations.RunSQL(
                _TRIGGER.format(table=table, events=events),
                f"DROP TRIGGER quittance_notify_settings ON {table}",
            )
            for table, events in _EVENTS.items()
        ),
    ]
