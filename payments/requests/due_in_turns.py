"""Select due payments in turns: chains take turns and, on each chain, merchants.

In order of time alone, a merchant or a chain with very many due payments would delay all others. Here 100,000 pending
payments of one merchant leave the others' p95 unchanged (`bench.fairness`, docs/performance.md#fairness), and
`test_the_selection_reads_one_index_and_few_rows` shows why.
"""

from datetime import datetime
from typing import Any

from django.db import connection

# How many payments of one merchant are in a batch where others have open payments on the chain, and where none has but
# more are due than fit: a backlog must not make each batch last long, since the others' next payments wait for its end.
_SHARE = 25
_OF_A_BACKLOG = 50
# How many rows are read for one batch, and how many of each merchant at least.
_ROWS = 4000
_FEWEST = 16
# The conditions of the index `payment_due_in_turns`.
_OPEN = """
    payment.status IN ('pending', 'processing') AND NOT payment.is_simulated
    AND NOT (payment.destination_transaction_hash = '' AND payment.is_bridging)
"""
_NEXT_OF_LANE = f"""
    SELECT payment.id, payment.next_check_at, LEAST(payment.attempts, 1) AS is_missing
    FROM payments_payment AS payment
    WHERE {_OPEN} AND payment.lookup_chain_id = lane.chain_id AND payment.merchant_id = lane.merchant_id
          AND payment.next_check_at <= %(now)s
          AND (payment.lease_until IS NULL OR payment.lease_until <= statement_timestamp())
"""  # noqa: S608 - built from constants
_LIMIT_OF_LANE = """
    ORDER BY payment.next_check_at
    LIMIT (
        SELECT CASE WHEN count(*) = 1 THEN %(most)s + 1
                    ELSE greatest(%(fewest)s, least(%(share)s, %(rows)s / count(*))) END
        FROM lane
    )
"""
# Steps through the chains and merchants with open payments, and reads only the first due ones of each: the cost does
# not grow with a backlog.
_IN_TURNS = f"""
WITH RECURSIVE lane AS (
    (SELECT payment.lookup_chain_id AS chain_id, payment.merchant_id
     FROM payments_payment AS payment
     WHERE {_OPEN} AND payment.lookup_chain_id BETWEEN %(first)s AND %(last)s
     ORDER BY payment.lookup_chain_id, payment.merchant_id LIMIT 1)
    UNION ALL
    SELECT following.* FROM lane CROSS JOIN LATERAL (
        SELECT payment.lookup_chain_id, payment.merchant_id
        FROM payments_payment AS payment
        WHERE {_OPEN} AND (payment.lookup_chain_id, payment.merchant_id) > (lane.chain_id, lane.merchant_id)
              AND payment.lookup_chain_id <= %(last)s
        ORDER BY payment.lookup_chain_id, payment.merchant_id LIMIT 1
    ) AS following
),
waiting AS (
    SELECT due.id, due.next_check_at,
           row_number() OVER (
               PARTITION BY lane.chain_id, lane.merchant_id ORDER BY due.is_missing, due.next_check_at
           ) AS turn
    FROM lane CROSS JOIN LATERAL (
        ({_NEXT_OF_LANE} AND LEAST(payment.attempts, 1) = 0 {_LIMIT_OF_LANE})
        UNION ALL
        ({_NEXT_OF_LANE} AND LEAST(payment.attempts, 1) = 1 {_LIMIT_OF_LANE})
    ) AS due
)
SELECT id FROM waiting ORDER BY turn, next_check_at
LIMIT (
    SELECT CASE WHEN (SELECT count(*) FROM lane) = 1 AND count(*) > %(most)s THEN least(%(backlog)s, %(most)s)
                ELSE %(most)s END
    FROM waiting
)
"""  # noqa: S608 - built from constants
_CHAINS = f"""
WITH RECURSIVE chain AS (
    (SELECT payment.lookup_chain_id AS id FROM payments_payment AS payment
     WHERE {_OPEN} AND payment.lookup_chain_id IS NOT NULL ORDER BY payment.lookup_chain_id LIMIT 1)
    UNION ALL
    SELECT following.id FROM chain CROSS JOIN LATERAL (
        SELECT payment.lookup_chain_id AS id FROM payments_payment AS payment
        WHERE {_OPEN} AND payment.lookup_chain_id > chain.id ORDER BY payment.lookup_chain_id LIMIT 1
    ) AS following
)
SELECT id FROM chain
"""  # noqa: S608 - built from constants
_ALL_CHAINS = (-(2**63), 2**63 - 1)


def chains_with_open_payments() -> list[int]:
    """Return the ids of the chains on which open payments are looked up."""
    with connection.cursor() as cursor:
        cursor.execute(_CHAINS)
        return [chain_id for (chain_id,) in cursor.fetchall()]


def due_in_turns(now: datetime, most: int, chain_id: int | None = None) -> list[str]:
    """Return the ids of up to `most` due payments that no worker holds; with `chain_id`, only those on that chain.

    Of each merchant those that no check has missed yet come first. Swaps that wait for their provider are left out.
    """
    with connection.cursor() as cursor:
        cursor.execute(_IN_TURNS, values_for(now, most, chain_id))
        return [payment_id for (payment_id,) in cursor.fetchall()]


def values_for(now: datetime, most: int, chain_id: int | None) -> dict[str, Any]:
    """Return the parameters of the query."""
    first, last = _ALL_CHAINS if chain_id is None else (chain_id, chain_id)
    return {
        "now": now,
        "first": first,
        "last": last,
        "most": most,
        "share": _SHARE,
        "backlog": _OF_A_BACKLOG,
        "rows": _ROWS,
        "fewest": _FEWEST,
    }
