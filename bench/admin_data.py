"""Fill a database with 90 days of data of busy merchants.

PostgreSQL generates the rows, which is much faster than Python.

The rows are like the service's own: requests with their payments, transfers and history, and events with their
deliveries and attempts. There are a few hundred merchants, and some of them have many more rows than others. A column
that is not named here gets the default of its model. So a new column needs no change here.
"""

# ruff: noqa: S608 - all SQL here is put together from this file's own words and numbers

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.core.management import call_command
from django.db import connection, models
from django.utils import timezone

from chains.models import Chain, ChainStatus, Token
from merchants.models import ApiKey, Merchant
from payments.models import ConsumedTransfer, Lookup, Payment, PaymentRequest, Transition
from webhooks.models import Attempt, Delivery, Endpoint, Event, EventBody
from webhooks.storage.partitions import WEEK, making_of, partitions

CHUNK = 100_000
DAYS = 90
CATALOGUE = "chains/catalogues/mainnet.json"


@dataclass(frozen=True)
class Size:
    """The number of rows of each kind. There are as many events as deliveries. Requests are from the last `days` days.

    Events follow their requests immediately, or are spread over the last `event_days` days.
    """

    requests: int = 1_000_000
    deliveries: int = 5_000_000
    merchants: int = 400
    keys: int = 4_000
    days: int = DAYS
    event_days: int | None = None


Say = Callable[[str], None]


def generate(size: Size, say: Say, *, vacuum: bool = True) -> None:
    """Fill an empty, migrated database.

    `say` receives the progress. Inside a transaction, pass `vacuum=False`, because VACUUM can't run there.
    """
    began = time.perf_counter()
    call_command("load_catalogue", CATALOGUE, verbosity=0)
    _partition_the_past(size.event_days or size.days)
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = 0; SET synchronous_commit = off; SELECT setseed(0.42)")
        cursor.execute("SET session_replication_role = replica")  # skips the check of foreign keys
    indexes = _drop_indexes()
    for name, model, count, source, columns in _tables(size):
        _fill(name, model, count, source, columns, say)
    say("building indexes…")
    with connection.cursor() as cursor:
        cursor.execute("SET maintenance_work_mem = '512MB'")
        for definition in indexes:
            cursor.execute(definition)
        cursor.execute("SET session_replication_role = origin")
    say("vacuum and statistics…")
    with connection.cursor() as cursor:
        cursor.execute("VACUUM (ANALYZE)" if vacuum else "ANALYZE")
        cursor.execute("RESET statement_timeout; RESET synchronous_commit; RESET maintenance_work_mem")
    say(f"generated in {time.perf_counter() - began:.0f} s")


_Table = tuple[str, type[models.Model], int, str, dict[str, str]]

# SQL that chooses one of `many` merchants for a row. Merchants with low numbers get more rows.
_PICK = "(1 + floor({many} * power({random}, 3)))::int"
_MD5_UUID = (
    "(lpad(to_hex((extract(epoch from t) * 1000)::bigint), 12, '0') || '7' || substr(m, 1, 3) || '8'"
    " || substr(m, 4, 15))::uuid"
)


def _tables(size: Size) -> list[_Table]:
    """Return the tables to fill, in order.

    For each table, there are a name, a model, the number of steps, a source and columns. The source is a SELECT with
    one row per step. In it, `{first}` and `{last}` are the first and last step of a chunk.
    """
    numbers = "SELECT n, md5(n::text) AS m FROM generate_series({first}, {last}) AS n"
    return [
        (
            "merchants",
            Merchant,
            size.merchants,
            f"SELECT *, now() - interval '{size.days} days' AS t FROM ({numbers}) AS s",
            {
                "id": _MD5_UUID,
                "name": "'Merchant ' || lpad(n::text, 4, '0')",
                "email": "'merchant' || n || '@example.com'",
                "created_at": "t",
            },
        ),
        (
            "keys",
            ApiKey,
            size.keys,
            f"SELECT *, {_merchant('random()', size)} AS merchant FROM ({numbers}) AS s",
            {
                "merchant_id": "merchant",
                "name": "(ARRAY['web shop', 'back office', 'till', 'subscriptions'])[1 + n % 4]",
                "prefix": "'quitt_' || substr(m, 1, 6)",
                "digest": "sha256(n::text::bytea)",
                "permissions": "ARRAY['create_payments']",
                "created_at": "now() - random() * interval '80 days'",
                "revoked_at": "CASE WHEN n % 7 = 0 THEN now() - interval '1 day' END",
                "last_used_at": "CASE WHEN n % 3 > 0 THEN now() - random() * interval '9 days' END",
            },
        ),
        (
            "endpoints",
            Endpoint,
            size.merchants,
            f"SELECT *, {_nth_merchant('n')} AS merchant FROM ({numbers}) AS s",
            {
                "merchant_id": "merchant",
                "url": "'https://merchant' || n || '.example.com/hooks'",
                "secret_encrypted": "''::bytea",
                "is_enabled": "n % 97 > 0",
                "disabled_reason": "CASE WHEN n % 97 = 0 THEN 'Nothing but failures for 5 days.' END",
                "failing_since": "CASE WHEN n % 61 = 0 THEN now() - interval '2 days' END",
            },
        ),
        ("requests", PaymentRequest, size.requests, _requests(size), _REQUEST_COLUMNS),
        (
            "payments",
            Payment,
            size.requests,
            _of_requests("n % 50 < 36 OR r.status = 'completed'"),
            _PAYMENT_COLUMNS,
        ),
        (
            "lookups",
            Lookup,
            size.requests,
            _of_requests("n % 50 < 36 OR r.status = 'completed'"),
            {
                "of_payment_id": _PAYMENT_ID,
                "chain_id": "chain_id",
                "merchant_id": "merchant_id",
                "transaction_hash": _HASH,
                "block_number": "20000000 + n / 4",
                "confirmations": "12",
                "next_check_at": f"CASE WHEN NOT {_CAME} AND {_WAITS} THEN now() + interval '1 hour' END",
            },
        ),
        (
            "transfers",
            ConsumedTransfer,
            size.requests,
            _of_requests("r.amount_paid > 0"),
            {
                "chain_id": "chain_id",
                "transaction_hash": _HASH,
                "slot": "(n % 300)::text",
                "payment_id": _PAYMENT_ID,
                "amount": "amount_paid",
                "created_at": "paid_at",
            },
        ),
        ("history", Transition, size.requests, _history(), _HISTORY_COLUMNS),
        ("events", Event, size.deliveries, _events(size), _EVENT_COLUMNS),
        (
            "bodies",
            EventBody,
            size.deliveries,
            f"SELECT s.*, e.created FROM ({_events(size)}) AS s JOIN webhooks_event AS e ON e.id = 'evt_' || x",
            _BODY_COLUMNS,
        ),
        ("deliveries", Delivery, size.deliveries, _events(size), _DELIVERY_COLUMNS),
        (
            "attempts",
            Attempt,
            size.deliveries,
            f"SELECT s.*, k FROM ({_events(size)}) AS s,"
            " generate_series(1, CASE WHEN fails THEN 8 WHEN n % 20 = 0 THEN 2 ELSE 1 END) AS k",
            {
                "delivery_id": "'del_' || x",
                "number": "k",
                "url": "'https://shop.example.com/hooks'",
                "started_at": "t + k * interval '1 minute'",
                "duration_ms": "20 + (n % 900)::int",
                "status_code": "CASE WHEN fails OR (n % 20 = 0 AND k = 1) THEN 503 ELSE 200 END",
                "response_excerpt": "'ok'",
            },
        ),
    ]


def _partition_the_past(days: int) -> None:
    """Replace each partition for the past by weekly partitions, as in a service that has run for months."""
    with connection.cursor() as cursor:
        for partition in partitions():
            if not partition.name.endswith("_first"):
                continue
            cursor.execute(f"DROP TABLE {partition.name}")
            start = partition.until
            while start > timezone.now() - timedelta(days=days + 1):
                start -= WEEK
                for statement in making_of(partition.table, start):
                    cursor.execute(statement)


def _nth_merchant(number: str) -> str:
    return f"(SELECT array_agg(id ORDER BY name) FROM merchants_merchant)[{number}]"


def _merchant(random: str, size: Size) -> str:
    return _nth_merchant(_PICK.format(many=size.merchants, random=random))


def _requests(size: Size) -> str:
    """Generate requests. Their number grows each week and depends on the weekday. Most are paid within two minutes."""
    tokens = Token.objects.filter(is_active=True).count()
    return f"""
        WITH merchants AS MATERIALIZED (SELECT array_agg(id ORDER BY name) AS ids FROM merchants_merchant),
        tokens AS MATERIALIZED (
            SELECT array_agg(id ORDER BY (symbol = 'USDC') DESC, id) AS ids FROM chains_token WHERE is_active
        )
        SELECT s.*, token.chain_id, token.decimals, (1 + floor(300 * r4 * r4)) * power(10::numeric, token.decimals)
            + floor(99 * r5) * power(10::numeric, greatest(token.decimals - 2, 0)) AS asked
        FROM (
            SELECT n, md5(n::text) AS m, random() AS r1, random() AS r2, random() AS r3, random() AS r4, random() AS r5,
                now() - interval '1 day' * greatest({size.days} - day - 0.35 * sin(2 * pi() * day / 7), 0) AS t,
                merchants.ids[{_PICK.format(many=size.merchants, random="random()")}] AS merchant,
                tokens.ids[{_PICK.format(many=tokens, random="random()")}] AS token
            FROM merchants, tokens, generate_series({{first}}, {{last}}) AS n,
                LATERAL (SELECT {size.days} * power(n / {size.requests}::float, 0.7) AS day) AS d
        ) AS s JOIN chains_token AS token ON token.id = s.token
    """


_PAID = "(r1 < 0.66 AND t + interval '1 second' * (15 + 45 * -ln(1 - r2)) < now())"
_PAID_AT = "t + interval '1 second' * (15 + 45 * -ln(1 - r2))"
_OVER = "t + interval '1 hour' < now()"
_REQUEST_COLUMNS = {
    "id": _MD5_UUID,
    "merchant_id": "merchant",
    "shortcode": "substr(translate(md5('code' || n), '01', 'xy'), 1, 12)",
    "reference": "decode(md5('reference' || n), 'hex')",
    "status": f"CASE WHEN {_PAID} THEN 'completed' WHEN r3 < 0.05 THEN 'cancelled' WHEN {_OVER} THEN 'expired'"
    " ELSE 'active' END",
    "amount": "asked",
    "amount_paid": f"CASE WHEN {_PAID} THEN CASE WHEN r3 < 0.002 THEN asked + 5 ELSE asked END"
    " WHEN r3 BETWEEN 0.05 AND 0.052 THEN floor(asked / 2) ELSE 0 END",
    "chain_id": "chain_id",
    "token_id": "token",
    "recipient_address": "'0x' || substr(md5('wallet' || merchant) || md5(merchant::text), 1, 40)",
    "external_id": "'order-' || n",
    "metadata": "'{}'::jsonb",
    "redirect_url": "'https://shop.example.com/orders/' || n",
    "created_at": "t",
    "expires_at": "t + interval '1 hour'",
    "expiry_check_at": "t + interval '1 hour'",
    "completed_at": f"CASE WHEN {_PAID} THEN {_PAID_AT} END",
    "expired_at": f"CASE WHEN NOT {_PAID} AND r3 >= 0.05 AND {_OVER} THEN t + interval '1 hour' END",
    "cancelled_at": f"CASE WHEN NOT {_PAID} AND r3 < 0.05 THEN t + interval '5 minutes' END",
    "paid_late": f"{_PAID} AND r3 > 0.998",
}


def _of_requests(condition: str) -> str:
    """Select the chunk's requests that match `condition`, in the order of creation."""
    return f"""
        SELECT r.*, md5(r.id::text) AS m, coalesce(r.completed_at, r.created_at + interval '2 minutes') AS paid_at
        FROM (
            SELECT *, substr(external_id, 7)::bigint AS n FROM payments_paymentrequest
            WHERE substr(external_id, 7)::bigint BETWEEN {{first}} AND {{last}}
        ) AS r WHERE {condition}
    """


_HASH = "'0x' || md5('hash' || n) || m"
_PAYMENT_ID = "'pay_' || translate(substr(m, 1, 24), '0', 'Z')"
_CAME = "amount_paid > 0"
_WAITS = "status = 'active' AND n % 3 = 0"
_PAYMENT_COLUMNS = {
    "id": _PAYMENT_ID,
    "request_id": "id",
    "status": f"CASE WHEN {_CAME} THEN 'completed' WHEN {_WAITS} THEN 'processing' ELSE 'failed' END",
    "chain_id": "chain_id",
    "transaction_hash": _HASH,
    "from_address": "'0x' || substr(md5('payer' || n % 200000) || m, 1, 40)",
    "token_id": f"CASE WHEN {_CAME} THEN token_id END",
    "amount": f"CASE WHEN {_CAME} THEN amount_paid END",
    "amount_received": f"CASE WHEN {_CAME} THEN amount_paid END",
    "bound_by": f"CASE WHEN {_CAME} THEN 'reference' ELSE '' END",
    "reorged": f"{_CAME} AND n % 40000 = 0",
    "failure_code": f"CASE WHEN {_CAME} OR {_WAITS} THEN '' WHEN n % 30 = 0 THEN 'transaction_not_bound'"
    " ELSE 'transaction_not_found' END",
    "created_at": "paid_at - interval '1 second' * (8 + 30 * (n % 97) / 97.0 * (n % 89) / 89.0)",
    "verifying_since": "paid_at - interval '30 seconds'",
    "completed_at": f"CASE WHEN {_CAME} THEN paid_at END",
    "failed_at": f"CASE WHEN NOT {_CAME} AND NOT ({_WAITS}) THEN paid_at END",
    "unanswered_since": f"CASE WHEN NOT {_CAME} AND {_WAITS} AND n % 7 = 0 THEN now() - interval '2 hours' END",
}


def _history() -> str:
    """Generate history: the creation and the end of each request, and the steps of each payment."""
    return f"""
        SELECT s.*, step.payment, step.came_from, step.gets, step.at FROM ({_of_requests("TRUE")}) AS s
        LEFT JOIN payments_payment AS p ON p.request_id = s.id
        CROSS JOIN LATERAL (VALUES
            (NULL, '', 'active', s.created_at),
            (p.id, '', 'pending', p.created_at),
            (p.id, 'pending', 'processing', p.created_at + interval '1 second'),
            (p.id, 'processing', p.status, coalesce(p.completed_at, p.failed_at)),
            (NULL, 'active', s.status, coalesce(s.completed_at, s.expired_at, s.cancelled_at))
        ) AS step (payment, came_from, gets, at)
        WHERE step.at IS NOT NULL
    """


_HISTORY_COLUMNS = {
    "request_id": "id",
    "payment_id": "payment",
    "from_status": "came_from",
    "to_status": "gets",
    "actor": "'verification'",
    "created_at": "at",
}


def _events(size: Size) -> str:
    """Generate several events for each request, in the order of the requests."""
    each = max(size.deliveries // size.requests, 1)
    time = f"r.created_at + (1 + n % {each}) * interval '1 minute'"
    if size.event_days is not None:
        time = f"now() - interval '{size.event_days} days' * (1 - n / {size.deliveries}::float)"
    return f"""
        SELECT n, md5('event' || n) AS m, translate(substr(md5('event' || n), 1, 24), '0', 'Z') AS x,
            r.merchant_id AS merchant, n % 211 = 0 AS fails,
            least({time}, now()) AS t,
            n > {size.deliveries} - {min(2000, max(size.deliveries // 100, 1))} AS waits, r.shortcode,
            (ARRAY['payment.succeeded', 'payment.expired', 'payment.succeeded', 'payment.failed'])[1 + n % 4] AS type
        FROM generate_series({{first}}, {{last}}) AS n
        JOIN payments_paymentrequest AS r ON r.external_id = 'order-' || (1 + (n - 1) / {each})
    """


_EVENT_COLUMNS = {
    "id": "'evt_' || x",
    "merchant_id": "merchant",
    "type": "type",
    "created": "t",
    "dedupe_key": "'bench:' || n",
}
_BODY_COLUMNS = {
    "event_id": "'evt_' || x",
    "created": "created",
    "body": "convert_to(json_build_object('id', 'evt_' || x, 'type', type, 'data', json_build_object('object',"
    " json_build_object('shortcode', shortcode, 'reference', 'order-' || n)))::text, 'UTF8')",
}
_DELIVERY_COLUMNS = {
    "id": "'del_' || x",
    "merchant_id": "merchant",
    "event_id": "'evt_' || x",
    "public_event_id": "'evt_' || x",
    "type": "type",
    "status": "CASE WHEN waits THEN 'pending' WHEN fails THEN 'failed' ELSE 'delivered' END",
    "attempts": "CASE WHEN waits THEN 1 WHEN fails THEN 8 WHEN n % 20 = 0 THEN 2 ELSE 1 END",
    "due_at": "CASE WHEN waits THEN now() + interval '1 hour' END",
    "created_at": "t",
    "finished_at": "CASE WHEN NOT waits THEN least(t + interval '2 seconds', now()) END",
}


def _fill(
    name: str, model: type[models.Model], count: int, source: str, columns: dict[str, str], say: Say
) -> None:
    """Run INSERT … SELECT in chunks. Columns that are not named get the default of the model."""
    fields = {**_defaults(model), **columns}
    table = connection.ops.quote_name(model._meta.db_table)
    names = ", ".join(connection.ops.quote_name(column) for column in fields)
    written = 0
    for first in range(1, count + 1, CHUNK):
        last = min(first + CHUNK - 1, count)
        chunk = source.replace("{first}", str(first)).replace("{last}", str(last))
        with connection.cursor() as cursor:
            cursor.execute(
                f"INSERT INTO {table} ({names}) SELECT {', '.join(fields.values())} FROM ({chunk}) AS source"
            )
            written += cursor.rowcount
            if first == 1 and name == "requests":
                cursor.execute(f"ANALYZE {table}")
        say(f"{name}: {last * 100 // count} %, {written:,} rows")
    _help_the_next(name)


def _help_the_next(name: str) -> None:
    """Create or drop temporary indexes, so that the statements for the next tables find these rows fast."""
    needed = {
        "requests": "CREATE INDEX bench_number ON payments_paymentrequest ((substr(external_id, 7)::bigint));"
        "CREATE INDEX bench_order ON payments_paymentrequest (external_id); ANALYZE payments_paymentrequest",
        "payments": "ANALYZE payments_payment",
        "lookups": "ANALYZE payments_lookup",
        "attempts": "DROP INDEX bench_number; DROP INDEX bench_order",
    }
    if name in needed:
        with connection.cursor() as cursor:
            cursor.execute(needed[name])


def _defaults(model: type[models.Model]) -> dict[str, str]:
    """Return the model's default as SQL, for each NOT NULL column that has no default in the database."""
    found = {}
    for field in model._meta.concrete_fields:
        if field.null or field.primary_key or field.has_db_default():
            continue
        found[field.column] = _literal(field, field.get_default())
    return found


def _literal(field: models.Field[Any, Any], value: Any) -> str:
    if value is None or isinstance(field, models.DateTimeField):
        return "now()" if isinstance(field, models.DateTimeField) else "NULL"
    if isinstance(value, bool | int):
        return str(value)
    if isinstance(value, dict | list):
        return "'{}'"
    return "'" + str(value).replace("'", "''") + "'"


def _drop_indexes() -> list[str]:
    """Drop the plain indexes of the large tables. Return the statements that create the indexes again.

    Creating an index is much faster after the rows exist.
    """
    tables = [
        model._meta.db_table
        for model in (PaymentRequest, Payment, ConsumedTransfer, Transition, Event, Delivery, Attempt)
    ]
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT i.indexname, i.indexdef FROM pg_indexes AS i WHERE i.tablename = ANY(%s) AND NOT EXISTS ("
            " SELECT FROM pg_constraint AS c WHERE c.conname = i.indexname)",
            [tables],
        )
        found = [
            (name, definition)
            for name, definition in cursor.fetchall()
            if "UNIQUE" not in definition or "WHERE" in definition
        ]
        for name, _ in found:
            cursor.execute(f"DROP INDEX {connection.ops.quote_name(name)}")
    return [definition for _, definition in found]


def chains_at_work() -> None:
    """Write a status for each chain, as a worker would.

    One chain has a node that doesn't respond, and one is stalled.
    """
    now = timezone.now()
    for place, chain in enumerate(Chain.objects.filter(is_active=True)):
        head = 20_000_000 + int(hashlib.sha256(chain.name.encode()).hexdigest()[:5], 16)
        silent = 1 if place == 2 else 0
        nodes = [
            {
                "host": f"node{number}.example",
                "state": "failing" if number < silent else "answering",
                "head": None if number < silent else head,
                "behind": None if number < silent else 0,
                "error": "the node answered HTTP 503" if number < silent else "",
            }
            for number in range(3)
        ]
        still = timedelta(minutes=20 if place == 4 else 0, milliseconds=chain.block_time_ms // 2)
        ChainStatus.objects.update_or_create(
            chain=chain, defaults={"looked_at": now, "head": head, "head_since": now - still, "nodes": nodes}
        )
