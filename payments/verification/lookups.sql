-- The queue `LOOKUPS` has its own statements, because very many rows may be due. The statements step through
-- the index `lookup_due_in_turns` (chain, merchant, LEAST(attempts, 1), next check) and read only the first
-- rows of each merchant. So a backlog does not make the statements slower. If one merchant has 100,000
-- pending payments, the p95 of the others stays the same (`bench.fairness`).

-- name: lanes
-- The chains with due payments.
WITH RECURSIVE share (chain_id, merchant_id) AS (
    (SELECT {lane}, {owner} FROM {table} WHERE {waiting} AND {lane} IS NOT NULL ORDER BY {lane}, {owner} LIMIT 1)
    UNION ALL
    SELECT following.* FROM share CROSS JOIN LATERAL (
        SELECT {lane}, {owner} FROM {table}
        WHERE {waiting} AND ({lane}, {owner}) > (share.chain_id, share.merchant_id)
        ORDER BY {lane}, {owner} LIMIT 1
    ) AS following
)
SELECT DISTINCT share.chain_id FROM share CROSS JOIN LATERAL (
    (SELECT FROM {table}
     WHERE {waiting} AND {lane} = share.chain_id AND {owner} = share.merchant_id
           AND LEAST(attempts, 1) = 0 AND {due} <= %(now)s AND {free}
     LIMIT 1)
    UNION ALL
    (SELECT FROM {table}
     WHERE {waiting} AND {lane} = share.chain_id AND {owner} = share.merchant_id
           AND LEAST(attempts, 1) = 1 AND {due} <= %(now)s AND {free}
     LIMIT 1)
) AS due

-- name: open_lanes
-- The chains with open payments, due or not.
WITH RECURSIVE chain (id) AS (
    (SELECT {lane} FROM {table} WHERE {waiting} AND {lane} IS NOT NULL ORDER BY {lane} LIMIT 1)
    UNION ALL
    SELECT following.* FROM chain CROSS JOIN LATERAL (
        SELECT {lane} FROM {table} WHERE {waiting} AND {lane} > chain.id ORDER BY {lane} LIMIT 1
    ) AS following
)
SELECT id FROM chain

-- name: pick
-- Up to `most` due payments of a chain. Merchants take turns. Of each merchant's payments, those whose
-- lookups always found the transaction come first, because anyone can submit hashes of transactions that
-- don't exist.
--
-- If several merchants have open payments on the chain, each has at most 25 in a batch. If only one merchant has open
-- payments, and more are due than fit, the batch has 50. Other merchants' next payments must wait for the end of the
-- batch, so it must not take long. At least 16 rows of each merchant are read, and about 4,000 in all.
WITH RECURSIVE share (merchant_id) AS (
    (SELECT {owner} FROM {table} WHERE {waiting} AND {lane} = %(lane)s ORDER BY {owner} LIMIT 1)
    UNION ALL
    SELECT following.* FROM share CROSS JOIN LATERAL (
        SELECT {owner} FROM {table}
        WHERE {waiting} AND {lane} = %(lane)s AND {owner} > share.merchant_id
        ORDER BY {owner} LIMIT 1
    ) AS following
),
size (rows_each) AS (
    SELECT CASE WHEN count(*) = 1 THEN %(most)s + 1 ELSE greatest(16, least(25, 4000 / count(*))) END FROM share
),
due AS (
    SELECT first.*, row_number() OVER (PARTITION BY share.merchant_id ORDER BY is_missing, due_at) AS turn
    FROM share CROSS JOIN LATERAL (
        (SELECT {key} AS key, {due} AS due_at, 0 AS is_missing FROM {table}
         WHERE {waiting} AND {lane} = %(lane)s AND {owner} = share.merchant_id
               AND LEAST(attempts, 1) = 0 AND {due} <= %(now)s AND {free}
         ORDER BY {due} LIMIT (SELECT rows_each FROM size))
        UNION ALL
        (SELECT {key}, {due}, 1 FROM {table}
         WHERE {waiting} AND {lane} = %(lane)s AND {owner} = share.merchant_id
               AND LEAST(attempts, 1) = 1 AND {due} <= %(now)s AND {free}
         ORDER BY {due} LIMIT (SELECT rows_each FROM size))
    ) AS first
)
SELECT key FROM due ORDER BY turn, due_at
LIMIT (
    SELECT CASE WHEN (SELECT count(*) FROM share) = 1 AND count(*) > %(most)s THEN least(50, %(most)s)
                ELSE %(most)s END
    FROM due
)
