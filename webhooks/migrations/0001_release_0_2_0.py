"""The tables of `webhooks` as of release 0.2.0. Bodies and attempts are partitioned by week.

docs/decisions/0035-partitioned-bodies-and-attempts.md has the reasons.
"""

from datetime import UTC, datetime, timedelta

import django.contrib.postgres.fields
import django.db.models.deletion
import django.utils.timezone
import webhooks.models
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

_WEEK = timedelta(days=7)
_AHEAD = timedelta(days=60)
_TABLES = {
    "webhooks_eventbody": """
        CREATE TABLE webhooks_eventbody (
            event_id varchar(28) NOT NULL,
            created timestamptz NOT NULL,
            body bytea NOT NULL,
            PRIMARY KEY (event_id, created)
        ) PARTITION BY RANGE (created)
    """,
    "webhooks_attempt": """
        CREATE TABLE webhooks_attempt (
            number smallint NOT NULL CHECK (number >= 0),
            url varchar(2048) NOT NULL,
            started_at timestamptz NOT NULL,
            duration_ms integer CHECK (duration_ms >= 0),
            status_code smallint CHECK (status_code >= 0),
            error varchar(255) NOT NULL,
            response_excerpt text NOT NULL,
            delivery_id varchar(28) NOT NULL,
            PRIMARY KEY (delivery_id, number, started_at)
        ) PARTITION BY RANGE (started_at)
    """,
}


def make_partitioned(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:  # noqa: ARG001 - Django's interface
    """Make both tables with their partitions of the next 60 days; `webhooks.storage.partitions` makes later ones."""
    now = datetime.now(UTC)
    monday = now.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=now.weekday())
    for table, definition in _TABLES.items():
        editor.execute(definition)
        start, until, name = None, monday + 2 * _WEEK, f"{table}_first"
        while start is None or start < now + _AHEAD:
            lower = "MINVALUE" if start is None else f"'{start.isoformat()}'"
            editor.execute(
                f"CREATE TABLE {name} PARTITION OF {table} FOR VALUES FROM ({lower}) TO ('{until.isoformat()}')"
            )
            start, until = until, until + _WEEK
            name = f"{table}_{start:%Y%m%d}"


def drop_partitioned(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:  # noqa: ARG001 - Django's interface
    """Drop both tables with their partitions."""
    for table in _TABLES:
        editor.execute(f"DROP TABLE {table}")


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("webhooks", "0001_initial"),
        ("webhooks", "0002_redelivery"),
        ("webhooks", "0003_log_indexes"),
        ("webhooks", "0004_list_indexes"),
        ("webhooks", "0005_event_tells_of"),
        ("webhooks", "0006_due_by_merchant"),
        ("webhooks", "0007_endpoint_warned_at"),
        ("webhooks", "0008_fewer_indexes"),
        ("webhooks", "0009_older_secrets"),
        ("webhooks", "0010_due_at_own_url"),
        ("webhooks", "0011_portal_labels"),
        ("webhooks", "0012_partitions"),
        ("webhooks", "0013_fewer_indexes"),
        ("webhooks", "0014_refund_events"),
    ]
    dependencies = [
        ("merchants", "0001_release_0_2_0"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.CreateModel(
                    name="EventBody",
                    fields=[
                        (
                            "pk",
                            models.CompositePrimaryKey(
                                "event_id",
                                "created",
                                blank=True,
                                editable=False,
                                primary_key=True,
                                serialize=False,
                            ),
                        ),
                        ("event_id", models.CharField(max_length=28)),
                        ("created", models.DateTimeField()),
                        ("body", models.BinaryField()),
                    ],
                    options={
                        "default_permissions": (),
                    },
                ),
            ],
        ),
        migrations.CreateModel(
            name="Delivery",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=webhooks.models._delivery_id,
                        editable=False,
                        max_length=28,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("public_event_id", models.CharField(max_length=28, verbose_name="event ID")),
                (
                    "type",
                    models.CharField(
                        choices=[
                            ("payment.succeeded", "Payment succeeded"),
                            ("payment.failed", "Payment failed"),
                            ("payment.expired", "Payment request expired"),
                            ("payment.partially_paid", "Payment request partially paid"),
                            ("payment.overpaid", "Payment request overpaid"),
                            ("payment.reorged", "Payment undone by a chain reorganisation"),
                            ("refund.completed", "Refund completed"),
                            ("refund.failed", "Refund failed"),
                        ],
                        max_length=64,
                    ),
                ),
                ("url_override", models.CharField(blank=True, default="", max_length=2048)),
                ("own_body", models.BinaryField(null=True)),
                ("is_test", models.BooleanField(default=False)),
                (
                    "status",
                    models.CharField(
                        choices=[("pending", "Pending"), ("delivered", "Delivered"), ("failed", "Failed")],
                        default="pending",
                        max_length=16,
                    ),
                ),
                ("attempts", models.PositiveSmallIntegerField(default=0)),
                (
                    "earlier_attempts",
                    models.PositiveSmallIntegerField(db_default=0, default=0, editable=False),
                ),
                ("due_at", models.DateTimeField(null=True)),
                ("claim_id", models.UUIDField(editable=False, null=True)),
                ("lease_until", models.DateTimeField(editable=False, null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("finished_at", models.DateTimeField(editable=False, null=True)),
                ("redelivered_at", models.DateTimeField(editable=False, null=True)),
                (
                    "redelivered_by",
                    models.CharField(blank=True, db_default="", default="", editable=False, max_length=100),
                ),
                (
                    "merchant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="webhook_deliveries",
                        to="merchants.merchant",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "deliveries",
                "ordering": ("-created_at", "-id"),
            },
        ),
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.CreateModel(
                    name="Attempt",
                    fields=[
                        (
                            "pk",
                            models.CompositePrimaryKey(
                                "delivery_id",
                                "number",
                                "started_at",
                                blank=True,
                                editable=False,
                                primary_key=True,
                                serialize=False,
                            ),
                        ),
                        ("number", models.PositiveSmallIntegerField()),
                        ("url", models.CharField(max_length=2048)),
                        ("started_at", models.DateTimeField()),
                        ("duration_ms", models.PositiveIntegerField(null=True)),
                        ("status_code", models.PositiveSmallIntegerField(null=True)),
                        ("error", models.CharField(blank=True, default="", max_length=255)),
                        ("response_excerpt", models.TextField(blank=True, default="")),
                        (
                            "delivery",
                            models.ForeignKey(
                                db_constraint=False,
                                db_index=False,
                                on_delete=django.db.models.deletion.DO_NOTHING,
                                to="webhooks.delivery",
                            ),
                        ),
                    ],
                    options={
                        "ordering": ("number",),
                    },
                ),
            ],
        ),
        migrations.CreateModel(
            name="Event",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=webhooks.models._event_id,
                        editable=False,
                        max_length=28,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                (
                    "type",
                    models.CharField(
                        choices=[
                            ("payment.succeeded", "Payment succeeded"),
                            ("payment.failed", "Payment failed"),
                            ("payment.expired", "Payment request expired"),
                            ("payment.partially_paid", "Payment request partially paid"),
                            ("payment.overpaid", "Payment request overpaid"),
                            ("payment.reorged", "Payment undone by a chain reorganisation"),
                            ("refund.completed", "Refund completed"),
                            ("refund.failed", "Refund failed"),
                        ],
                        max_length=64,
                    ),
                ),
                ("created", models.DateTimeField()),
                ("dedupe_key", models.CharField(max_length=200, verbose_name="occurrence")),
                ("row_body", models.BinaryField(db_column="body", null=True)),
                (
                    "merchant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="events",
                        to="merchants.merchant",
                    ),
                ),
            ],
            options={
                "ordering": ("-created", "-id"),
            },
        ),
        migrations.AddField(
            model_name="delivery",
            name="event",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="deliveries",
                to="webhooks.event",
            ),
        ),
        migrations.CreateModel(
            name="Endpoint",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("url", models.CharField(editable=False, max_length=2048, null=True)),
                ("secret_encrypted", models.BinaryField()),
                ("previous_secret_encrypted", models.BinaryField(null=True)),
                ("previous_secret_expires_at", models.DateTimeField(editable=False, null=True)),
                ("is_enabled", models.BooleanField(default=True, verbose_name="enabled")),
                (
                    "enabled_events",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(
                            choices=[
                                ("payment.succeeded", "Payment succeeded"),
                                ("payment.failed", "Payment failed"),
                                ("payment.expired", "Payment request expired"),
                                ("payment.partially_paid", "Payment request partially paid"),
                                ("payment.overpaid", "Payment request overpaid"),
                                ("payment.reorged", "Payment undone by a chain reorganisation"),
                                ("refund.completed", "Refund completed"),
                                ("refund.failed", "Refund failed"),
                            ],
                            max_length=64,
                        ),
                        blank=True,
                        null=True,
                        size=None,
                    ),
                ),
                ("disabled_reason", models.CharField(editable=False, max_length=255, null=True)),
                ("failing_since", models.DateTimeField(editable=False, null=True)),
                ("warned_at", models.DateTimeField(editable=False, null=True)),
                ("older_secrets", models.JSONField(db_default=[], default=list, editable=False)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("updated_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "merchant",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="webhook_endpoint",
                        to="merchants.merchant",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("previous_secret_encrypted__isnull", True),
                                ("previous_secret_expires_at__isnull", True),
                            ),
                            models.Q(
                                ("previous_secret_encrypted__isnull", False),
                                ("previous_secret_expires_at__isnull", False),
                            ),
                            _connector="OR",
                        ),
                        name="endpoint_previous_secret_expires",
                    )
                ],
            },
        ),
        migrations.AddIndex(
            model_name="event",
            index=models.Index(
                models.F("merchant"),
                models.OrderBy(models.F("created"), descending=True),
                models.OrderBy(models.F("id"), descending=True),
                name="event_newest_first",
            ),
        ),
        migrations.AddIndex(
            model_name="event",
            index=models.Index(
                models.OrderBy(models.F("created"), descending=True),
                models.OrderBy(models.F("id"), descending=True),
                name="event_newest_of_all",
            ),
        ),
        migrations.AddIndex(
            model_name="event",
            index=models.Index(
                models.F("merchant"),
                models.F("type"),
                models.OrderBy(models.F("created"), descending=True),
                models.OrderBy(models.F("id"), descending=True),
                name="event_newest_of_type",
            ),
        ),
        migrations.AddIndex(
            model_name="event",
            index=models.Index(
                fields=["dedupe_key"], name="event_tells_of", opclasses=("varchar_pattern_ops",)
            ),
        ),
        migrations.AddConstraint(
            model_name="event",
            constraint=models.UniqueConstraint(
                fields=("merchant", "type", "dedupe_key"), name="event_is_made_once"
            ),
        ),
        migrations.AddIndex(
            model_name="delivery",
            index=models.Index(
                models.F("merchant"),
                models.OrderBy(models.F("created_at"), descending=True),
                models.OrderBy(models.F("id"), descending=True),
                name="delivery_newest_first",
            ),
        ),
        migrations.AddIndex(
            model_name="delivery",
            index=models.Index(
                condition=models.Q(("status", "pending")),
                fields=["merchant", "due_at", "id"],
                name="delivery_due_by_merchant",
            ),
        ),
        migrations.AddIndex(
            model_name="delivery",
            index=models.Index(
                condition=models.Q(("status", "pending"), models.Q(("url_override", ""), _negated=True)),
                fields=["merchant", "due_at", "id"],
                name="delivery_due_at_own_url",
            ),
        ),
        migrations.AddIndex(
            model_name="delivery",
            index=models.Index(
                condition=models.Q(("event__isnull", True)),
                fields=["public_event_id"],
                name="delivery_of_test_event",
            ),
        ),
        migrations.AddIndex(
            model_name="delivery",
            index=models.Index(
                models.OrderBy(models.F("created_at"), descending=True),
                models.OrderBy(models.F("id"), descending=True),
                name="delivery_newest_of_all",
            ),
        ),
        migrations.AddIndex(
            model_name="delivery",
            index=models.Index(
                models.F("merchant"),
                models.F("type"),
                models.OrderBy(models.F("created_at"), descending=True),
                models.OrderBy(models.F("id"), descending=True),
                name="delivery_newest_of_type",
            ),
        ),
        migrations.AddIndex(
            model_name="delivery",
            index=models.Index(
                models.F("merchant"),
                models.F("status"),
                models.OrderBy(models.F("created_at"), descending=True),
                models.OrderBy(models.F("id"), descending=True),
                name="delivery_newest_of_status",
            ),
        ),
        migrations.AddIndex(
            model_name="delivery",
            index=models.Index(
                condition=models.Q(("finished_at__isnull", False)),
                fields=["finished_at"],
                name="delivery_ended",
            ),
        ),
        migrations.AddIndex(
            model_name="delivery",
            index=models.Index(
                condition=models.Q(("status", "failed")), fields=["finished_at"], name="delivery_given_up"
            ),
        ),
        migrations.AddConstraint(
            model_name="delivery",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("due_at__isnull", False), ("finished_at__isnull", True), ("status", "pending")),
                    models.Q(
                        ("due_at__isnull", True),
                        ("finished_at__isnull", False),
                        ("status__in", ("delivered", "failed")),
                    ),
                    _connector="OR",
                ),
                name="delivery_is_due_while_pending",
            ),
        ),
        migrations.AddConstraint(
            model_name="delivery",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("event__isnull", False), ("own_body__isnull", True)),
                    models.Q(("event__isnull", True), ("own_body__isnull", False)),
                    _connector="OR",
                ),
                name="delivery_has_one_body",
            ),
        ),
        migrations.AddConstraint(
            model_name="delivery",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("claim_id__isnull", True), ("lease_until__isnull", True)),
                    models.Q(("claim_id__isnull", False), ("lease_until__isnull", False)),
                    _connector="OR",
                ),
                name="delivery_claim_has_a_lease",
            ),
        ),
        migrations.RunPython(make_partitioned, drop_partitioned),
        # Each delivery is updated at least twice: with room in its page, an update need not touch the indexes.
        migrations.RunSQL(
            "ALTER TABLE webhooks_delivery SET (fillfactor = 75)",
            "ALTER TABLE webhooks_delivery RESET (fillfactor)",
        ),
    ]
