"""Drop the indexes that no query needs; let one index do the work of two. Made beside the running service.

A new index exists before the one that it replaces goes. An interrupted migration can be run again: it drops what the
first run left behind. tests/integration/payments/test_query_plans.py names the query of each index that stays.
"""

from typing import Any

import django.db.models.deletion
from django.contrib.postgres.indexes import OpClass
from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models
from django.db.models import F, Q

import merchants.identifiers


def added(model: str, index: models.Index) -> list[Any]:
    """Return the operations that make an index, also after an interrupted try."""
    left_behind = migrations.RunSQL(f"DROP INDEX CONCURRENTLY IF EXISTS {index.name}", migrations.RunSQL.noop)
    return [left_behind, AddIndexConcurrently(model, index)]


def dropped(index: str, definition: str) -> migrations.RunSQL:
    """Return the dropping of an index that Django made by itself; its name is the same in each database."""
    return migrations.RunSQL(
        f"DROP INDEX CONCURRENTLY IF EXISTS {index}",
        f"CREATE INDEX CONCURRENTLY IF NOT EXISTS {index} ON {definition}",
    )


def without_index(model: str, name: str, to: str, index: str, definition: str, **options: Any) -> Any:
    """Return the dropping of a foreign key's own index."""
    options = {"on_delete": django.db.models.deletion.PROTECT, "related_name": "+", **options}
    field = models.ForeignKey(db_index=False, to=to, **options)
    return migrations.SeparateDatabaseAndState(
        database_operations=[dropped(index, definition)],
        state_operations=[migrations.AlterField(model, name, field)],
    )


SHORTCODE = [
    migrations.RunSQL("DROP INDEX CONCURRENTLY IF EXISTS payment_request_shortcode", migrations.RunSQL.noop),
    migrations.SeparateDatabaseAndState(
        database_operations=[
            migrations.RunSQL(
                "CREATE UNIQUE INDEX CONCURRENTLY payment_request_shortcode"
                " ON payments_paymentrequest (shortcode varchar_pattern_ops)",
                "DROP INDEX CONCURRENTLY IF EXISTS payment_request_shortcode",
            ),
            migrations.RunSQL(
                "ALTER TABLE payments_paymentrequest"
                " DROP CONSTRAINT IF EXISTS payments_paymentrequest_shortcode_key",
                "ALTER TABLE payments_paymentrequest"
                " ADD CONSTRAINT payments_paymentrequest_shortcode_key UNIQUE (shortcode)",
            ),
            dropped(
                "payments_paymentrequest_shortcode_8d43542b_like",
                "payments_paymentrequest (shortcode varchar_pattern_ops)",
            ),
        ],
        state_operations=[
            migrations.AlterField(
                "paymentrequest",
                "shortcode",
                models.CharField(default=merchants.identifiers.shortcode, editable=False, max_length=12),
            ),
            migrations.AddConstraint(
                "paymentrequest",
                models.UniqueConstraint(
                    fields=("shortcode",),
                    name="payment_request_shortcode",
                    opclasses=("varchar_pattern_ops",),
                ),
            ),
        ],
    ),
]


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("chains", "0005_portal_labels"),
        ("merchants", "0011_portal_labels"),
        ("payments", "0023_due_in_turns"),
    ]

    operations = [
        migrations.RunSQL("SET statement_timeout = 0; SET lock_timeout = 0", migrations.RunSQL.noop),
        *added(
            "paymentrequest",
            models.Index(
                OpClass(F("external_id"), name="varchar_pattern_ops"),
                F("merchant"),
                F("created_at").desc(),
                F("id").desc(),
                condition=Q(external_id__isnull=False),
                name="payment_request_by_order",
            ),
        ),
        RemoveIndexConcurrently("paymentrequest", "payment_request_by_external_id"),
        RemoveIndexConcurrently("paymentrequest", "payment_request_order_number"),
        *SHORTCODE,
        # The lists by time serve the portal's too.
        RemoveIndexConcurrently("paymentrequest", "payment_request_newest"),
        without_index(
            "paymentrequest",
            "merchant",
            "merchants.merchant",
            "payments_paymentrequest_merchant_id_05b05712",
            "payments_paymentrequest (merchant_id)",
            related_name="payment_requests",
        ),
        without_index(
            "paymentrequest",
            "chain",
            "chains.chain",
            "payments_paymentrequest_chain_id_ed7774bc",
            "payments_paymentrequest (chain_id)",
        ),
        # Another index begins with the same column.
        without_index(
            "payment",
            "request",
            "payments.paymentrequest",
            "payments_payment_request_id_dfba2578",
            "payments_payment (request_id)",
            related_name="payments",
        ),
        without_index(
            "consumedtransfer",
            "chain",
            "chains.chain",
            "payments_consumedtransfer_chain_id_d122964e",
            "payments_consumedtransfer (chain_id)",
        ),
        # Nothing is looked up by these.
        without_index(
            "payment",
            "token",
            "chains.token",
            "payments_payment_token_id_298f5fe2",
            "payments_payment (token_id)",
            null=True,
            blank=True,
        ),
        without_index(
            "payment",
            "route",
            "payments.route",
            "payments_payment_route_id_2e75262e",
            "payments_payment (route_id)",
            null=True,
            blank=True,
            on_delete=django.db.models.deletion.SET_NULL,
        ),
        without_index(
            "route", "chain", "chains.chain", "payments_route_chain_id_af08632a", "payments_route (chain_id)"
        ),
        without_index(
            "route", "token", "chains.token", "payments_route_token_id_d0e73e66", "payments_route (token_id)"
        ),
        without_index(
            "payerproof",
            "chain",
            "chains.chain",
            "payments_payerproof_chain_id_2c182a05",
            "payments_payerproof (chain_id)",
        ),
        without_index(
            "payerproof",
            "token",
            "chains.token",
            "payments_payerproof_token_id_5a2e3da5",
            "payments_payerproof (token_id)",
        ),
        # A request's own changes have no payment.
        *added(
            "transition",
            models.Index(
                fields=("payment",), condition=Q(payment__isnull=False), name="transition_of_payment"
            ),
        ),
        without_index(
            "transition",
            "payment",
            "payments.payment",
            "payments_transition_payment_id_fe12c9e4",
            "payments_transition (payment_id)",
            null=True,
            blank=True,
            related_name="transitions",
        ),
        # Django makes these for searches by the beginning of an id, which exist for payments only.
        *(
            dropped(
                f"payments_{table}_{column}_{digest}_like", f"payments_{table} ({column} varchar_pattern_ops)"
            )
            for table, column, digest in (
                ("payment", "route_id", "2e75262e"),
                ("transition", "payment_id", "fe12c9e4"),
                ("consumedtransfer", "payment_id", "39475192"),
                ("route", "id", "8a41eb3a"),
                ("quote", "route_id", "de89e35d"),
                ("payerproof", "route_id", "d830bdf3"),
            )
        ),
        migrations.RunSQL("RESET statement_timeout; RESET lock_timeout", migrations.RunSQL.noop),
    ]
