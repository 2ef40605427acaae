-- The statements that lease deliveries and store the results of their attempts.

-- name: claim
-- Lease up to `limit` due deliveries. At most `slow_limit` of them are from the slow lane. The statement steps through
-- an index from merchant to merchant. It reads a merchant's deliveries in four groups: to the endpoint or to payment
-- requests' own URLs, first attempts or retries. Of each group, it reads only the first `cap`. So it is fast even if
-- many deliveries wait, and no group hides another. In each group, the oldest deliveries are leased first, so the
-- deliveries in flight are among the first `cap`. `lane_turn` and `turn` count them before the others. This limits a
-- merchant's deliveries in flight to `cap`, and to `slow_cap` in the slow lane. In the slow lane, first attempts come
-- before retries that became due after `patience_began`. Older retries take turns with them. If a merchant's endpoint is
-- missing or disabled, deliveries to it are not read. The planner can't estimate `kind.cap`. So it reads the index in
-- order, and doesn't sort all deliveries that wait.
WITH RECURSIVE owner AS (
    (SELECT merchant_id FROM webhooks_delivery WHERE status = 'pending' ORDER BY merchant_id LIMIT 1)
    UNION ALL
    SELECT (SELECT following.merchant_id FROM webhooks_delivery following
            WHERE following.status = 'pending' AND following.merchant_id > owner.merchant_id
            ORDER BY following.merchant_id LIMIT 1)
    FROM owner WHERE owner.merchant_id IS NOT NULL
),
first AS (
    SELECT due.*,
           row_number() OVER (PARTITION BY owner.merchant_id, due.is_slow
                              ORDER BY due.is_free, due.is_retry AND due.due_at > %(patience_began)s,
                                       due.due_at, due.id) AS lane_turn
    FROM owner
    LEFT JOIN webhooks_endpoint endpoint ON endpoint.merchant_id = owner.merchant_id
    CROSS JOIN (VALUES (false, %(cap)s::bigint), (true, %(cap)s::bigint)) AS kind (is_retry, cap)
    CROSS JOIN LATERAL (
        (SELECT delivery.id, delivery.merchant_id, delivery.due_at, delivery.attempts, delivery.is_retry,
                delivery.lease_until IS NULL OR delivery.lease_until <= statement_timestamp() AS is_free,
                delivery.is_retry OR endpoint.failing_since IS NOT NULL
                    OR delivery.merchant_id = ANY(%(slow_endpoints)s::uuid[]) AS is_slow
         FROM webhooks_delivery delivery
         WHERE delivery.merchant_id = owner.merchant_id AND delivery.is_retry = kind.is_retry
               AND delivery.status = 'pending' AND delivery.due_at <= %(now)s AND delivery.url_override = ''
               AND endpoint.is_enabled AND endpoint.url IS NOT NULL
         ORDER BY delivery.due_at, delivery.id LIMIT kind.cap)
        UNION ALL
        (SELECT delivery.id, delivery.merchant_id, delivery.due_at, delivery.attempts, delivery.is_retry,
                delivery.lease_until IS NULL OR delivery.lease_until <= statement_timestamp() AS is_free,
                delivery.is_retry OR delivery.merchant_id = ANY(%(slow_own_urls)s::uuid[]) AS is_slow
         FROM webhooks_delivery delivery
         WHERE delivery.merchant_id = owner.merchant_id AND delivery.is_retry = kind.is_retry
               AND delivery.status = 'pending' AND delivery.due_at <= %(now)s AND delivery.url_override <> ''
         ORDER BY delivery.due_at, delivery.id LIMIT kind.cap)
    ) due
),
waiting AS (
    SELECT next.*
    FROM (
        SELECT first.*,
               row_number() OVER (PARTITION BY first.merchant_id
                                  ORDER BY first.is_free, first.due_at, first.id) AS turn
        FROM first
        WHERE NOT (first.is_slow AND first.is_free AND first.lane_turn > %(slow_cap)s)
    ) next
    WHERE next.is_free AND next.turn <= %(cap)s
),
picked AS (
    (SELECT * FROM waiting WHERE NOT is_slow ORDER BY turn, due_at LIMIT %(limit)s + %(spare)s)
    UNION ALL
    (SELECT * FROM waiting WHERE is_slow ORDER BY due_at LIMIT %(slow_limit)s)
),
locked AS (
    SELECT unchanged.id, unchanged.is_abandoned, picked.is_slow, picked.turn
    FROM (SELECT * FROM picked ORDER BY turn, due_at) picked
    CROSS JOIN LATERAL (
        SELECT delivery.id, delivery.lease_until IS NOT NULL AS is_abandoned FROM webhooks_delivery delivery
        WHERE delivery.id = picked.id AND delivery.due_at = picked.due_at AND delivery.attempts = picked.attempts
        FOR UPDATE SKIP LOCKED
    ) unchanged
    LIMIT %(limit)s
)
UPDATE webhooks_delivery AS claimed
SET claim_id = %(claim_id)s, lease_until = statement_timestamp() + %(duration)s, attempts = claimed.attempts + 1
FROM locked WHERE claimed.id = locked.id
RETURNING locked.turn, claimed.due_at, claimed.id, claimed.merchant_id, claimed.attempts,
          claimed.attempts - claimed.earlier_attempts, claimed.public_event_id, claimed.type,
          claimed.url_override, locked.is_slow, claimed.own_body, locked.is_abandoned

-- name: bodies
-- The bodies of events. The statement `claim` doesn't read them, because it locks rows: PostgreSQL 18.4 crashes if the
-- same statement also prunes partitions while it runs.
SELECT event.id, coalesce(event.body, stored.body)
FROM webhooks_event event
LEFT JOIN webhooks_eventbody stored ON stored.event_id = event.id AND stored.created = event.created
WHERE event.id = ANY(%s::text[])

-- name: begin_attempts
-- Record attempts that begin now.
INSERT INTO webhooks_attempt (delivery_id, number, url, started_at, error, response_excerpt)
SELECT delivery_id, number, url, %s, '', ''
FROM unnest(%s::text[], %s::int[], %s::text[]) AS made (delivery_id, number, url)

-- name: failing
-- Select those of the given merchants whose endpoint is failing.
SELECT merchant_id FROM webhooks_endpoint WHERE merchant_id = ANY(%s) AND failing_since IS NOT NULL

-- name: held
-- Lock these deliveries. Return each one's claim id and the number of attempts in its current series.
SELECT id, claim_id, attempts - earlier_attempts FROM webhooks_delivery
WHERE id = ANY(%s::text[]) ORDER BY id FOR NO KEY UPDATE

-- name: store
-- Store the results in the deliveries, and release their leases.
UPDATE webhooks_delivery AS delivery
SET status = stored.status, due_at = stored.due_at, finished_at = stored.finished_at,
    is_retry = stored.status = 'pending', claim_id = NULL, lease_until = NULL
FROM unnest(%s::text[], %s::text[], %s::timestamptz[], %s::timestamptz[])
     AS stored (id, status, due_at, finished_at)
WHERE delivery.id = stored.id

-- name: complete_attempts
-- Store the results in the attempts. Don't prepare this statement: a prepared one would prune partitions while it runs
-- and also lock rows, and PostgreSQL 18.4 crashes then.
UPDATE webhooks_attempt AS attempt
SET duration_ms = made.duration_ms, status_code = made.status_code, error = made.error,
    response_excerpt = made.excerpt
FROM unnest(%s::text[], %s::int[], %s::int[], %s::int[], %s::text[], %s::text[])
     AS made (delivery_id, number, duration_ms, status_code, error, excerpt)
WHERE attempt.delivery_id = made.delivery_id AND attempt.number = made.number AND attempt.started_at > %s
