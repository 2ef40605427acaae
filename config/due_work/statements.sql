-- The statements of `Queue` and `Lease`. Words in braces are filled in from the queue's declaration.

-- name: lanes
-- The lanes with due rows that no worker holds.
SELECT DISTINCT {lane} FROM {table} WHERE {waiting} AND {due} <= %(now)s AND {free}

-- name: pick
-- Up to `most` due rows of a lane that no worker holds: the first of each owner, then the second of each, and so on.
-- With an order by time alone, an owner with very many due rows would delay all other owners. The statement ranks every
-- due row of the lane, so use it only for queues that stay short.
SELECT {key} FROM {table}
WHERE {waiting} AND {due} <= %(now)s AND {free} AND {lane} IS NOT DISTINCT FROM %(lane)s
ORDER BY row_number() OVER (PARTITION BY {owner} ORDER BY {order}), {order}
LIMIT %(most)s

-- name: lease
-- Lease these rows. Rows that another worker has leased or locked meanwhile are skipped. A row is abandoned if its last
-- worker did not release it.
WITH picked AS (
    SELECT {key} AS key, lease_until IS NOT NULL AS is_abandoned FROM {table}
    WHERE {key} = ANY(%(keys)s::{type}[]) AND {waiting} AND {due} <= %(now)s AND {free}
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE {table} AS leased SET claim_id = %(claim_id)s, lease_until = statement_timestamp() + %(duration)s
FROM picked WHERE leased.{key} = picked.key
RETURNING picked.key, picked.is_abandoned

-- name: renew
-- Extend the leases that the claim still holds. Renewal is one statement, because each statement may get another
-- connection from PgBouncer in transaction mode. Locked rows are skipped, because their results are just being stored.
-- The other rows must not wait for them.
WITH held AS (
    SELECT {key} AS key FROM {table}
    WHERE {key} = ANY(%(keys)s::{type}[]) AND claim_id = %(claim_id)s AND lease_until > statement_timestamp()
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE {table} AS leased SET lease_until = statement_timestamp() + %(duration)s
FROM held WHERE leased.{key} = held.key
RETURNING held.key
