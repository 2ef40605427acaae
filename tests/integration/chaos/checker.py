"""Check a run without any code of the product, from the database's rows, the chain and the receiver's deliveries."""

import hashlib
import hmac
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import psycopg

from tests.chain import LocalChain
from tests.integration.chaos.customers import REFUND_UNITS, REFUNDED_TO, UNITS, Customer
from tests.support.webhooks.receiver import Received

_TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
_BLOCKS_AT_ONCE = 500


@dataclass(frozen=True)
class Count:
    """The progress of a run: completed requests, completed payments and received deliveries, all including refunds."""

    requests: int
    payments: int
    delivered: int


def count(database_url: str) -> Count | None:
    """Return the run's progress, or None if PostgreSQL is down."""
    query = """SELECT (SELECT count(*) FROM payments_paymentrequest WHERE status = 'completed'),
                      (SELECT count(*) FROM payments_payment WHERE status = 'completed'),
                      (SELECT count(*) FROM webhooks_delivery WHERE status = 'delivered')"""
    try:
        with psycopg.connect(database_url, connect_timeout=2) as connection:
            row = connection.execute(query).fetchone()
    except psycopg.Error:
        return None
    return Count(*row) if row else None


def faults(
    customers: Sequence[Customer],
    database_url: str,
    chain: LocalChain,
    received: Sequence[Received],
    secret: str,
) -> list[str]:
    """Return the errors of a run; empty if each order was paid, credited and reported exactly once."""
    with psycopg.connect(database_url) as connection:
        return [
            *_in_requests(customers, connection),
            *_in_payments(customers, connection, _on_chain(chain, chain.recipient)),
            *_in_refunds(customers, connection, _on_chain(chain, REFUNDED_TO)),
            *_in_events(customers, connection, received, secret),
        ]


def _on_chain(chain: LocalChain, recipient: str) -> dict[str, int]:
    """Return the amount that each transaction moved to the recipient, from the token's logs."""
    head = int(chain.rpc("eth_blockNumber"), 16)
    to = "0x" + recipient[2:].lower().rjust(64, "0")
    moved: Counter[str] = Counter()
    for since in range(0, head + 1, _BLOCKS_AT_ONCE):
        wanted = {
            "address": chain.usdc,
            "topics": [_TRANSFER, None, to],
            "fromBlock": hex(since),
            "toBlock": hex(min(since + _BLOCKS_AT_ONCE - 1, head)),
        }
        for log in chain.rpc("eth_getLogs", wanted):
            moved[log["transactionHash"]] += int(log["data"], 16)
    return dict(moved)


def _in_requests(
    customers: Sequence[Customer], connection: "psycopg.Connection[tuple[object, ...]]"
) -> Iterator[str]:
    rows = connection.execute(
        "SELECT id::text, external_id, status, amount_paid::text FROM payments_paymentrequest WHERE NOT is_refund"
    ).fetchall()
    if len(rows) != len(customers):
        yield f"{len(customers)} orders made {len(rows)} requests"
    of_order = {order: (id_, status, paid) for id_, order, status, paid in rows}
    for customer in customers:
        if of_order.get(customer.order) != (customer.request_id, "completed", str(UNITS)):
            yield f"order {customer.order} has {of_order.get(customer.order)}"
    moves = connection.execute(
        """SELECT request_id::text, count(*) FROM payments_transition
           WHERE payment_id IS NULL AND to_status = 'completed' GROUP BY 1"""
    ).fetchall()
    yield from (f"request {id_} was completed {times} times" for id_, times in moves if times != 1)


def _in_payments(
    customers: Sequence[Customer],
    connection: "psycopg.Connection[tuple[object, ...]]",
    moved: dict[str, int],
) -> Iterator[str]:
    rows = connection.execute(
        """SELECT payment.transaction_hash, payment.request_id::text, payment.status,
                  payment.amount_received::text,
                  -- In a long run, the check for finality holds some of those that completed minutes ago.
                  CASE WHEN lookup.finality_check_at > now() - interval '10 minutes' THEN NULL
                       ELSE lookup.claim_id::text END,
                  (SELECT count(*) FROM payments_consumedtransfer used WHERE used.payment_id = payment.id),
                  (SELECT count(*) FROM payments_transition made
                   WHERE made.payment_id = payment.id AND made.to_status = 'completed')
           FROM payments_payment payment
           JOIN payments_lookup lookup ON lookup.of_payment_id = payment.id
           JOIN payments_paymentrequest request ON request.id = payment.request_id AND NOT request.is_refund"""
    ).fetchall()
    if len(rows) != len(customers):
        yield f"{len(customers)} transactions made {len(rows)} payments"
    found = {row[0]: row[1:] for row in rows}
    right = ("completed", str(UNITS), None, 1, 1)
    for customer in customers:
        if found.get(customer.transaction_hash) != (customer.request_id, *right):
            yield f"transaction {customer.transaction_hash} has {found.get(customer.transaction_hash)}"
    if {customer.transaction_hash: UNITS for customer in customers} != moved:
        yield "the chain does not show the transfers that the customers made"


def _in_refunds(
    customers: Sequence[Customer],
    connection: "psycopg.Connection[tuple[object, ...]]",
    moved: dict[str, int],
) -> Iterator[str]:
    rows = connection.execute(
        """SELECT refund.id, refund.request_id::text, carrier.status, carrier.amount_paid::text,
                  (SELECT array_agg(payment.transaction_hash) FROM payments_payment payment
                   JOIN payments_consumedtransfer used ON used.payment_id = payment.id
                   WHERE payment.request_id = carrier.id AND payment.status = 'completed')
           FROM payments_refund refund LEFT JOIN payments_paymentrequest carrier ON carrier.id = refund.carrier_id"""
    ).fetchall()
    refunded = {customer.refund_id: customer.request_id for customer in customers if customer.refund_id}
    if {row[0]: row[1] for row in rows} != refunded:
        yield f"the shop made {len(refunded)} refunds, and there are {len(rows)}"
    hashes: list[str] = []
    for id_, _, status, paid, sent in rows:
        if (status, paid) != ("completed", str(REFUND_UNITS)) or not isinstance(sent, list) or len(sent) != 1:
            yield f"refund {id_} is {status}: {paid} base units by {sent}"
        else:
            hashes += sent
    if dict.fromkeys(hashes, REFUND_UNITS) != moved or len(set(hashes)) != len(rows):
        yield "the chain does not show the transfers that the refunds were completed by"


def _in_events(
    customers: Sequence[Customer],
    connection: "psycopg.Connection[tuple[object, ...]]",
    received: Sequence[Received],
    secret: str,
) -> Iterator[str]:
    events = connection.execute(
        "SELECT event.id, event.type, stored.body FROM webhooks_event AS event"
        " JOIN webhooks_eventbody AS stored ON stored.event_id = event.id"
    ).fetchall()
    types = Counter(str(type_) for _, type_, _ in events)
    refunds = [customer.refund_id for customer in customers if customer.refund_id]
    wanted = Counter({"payment.succeeded": len(customers), "refund.completed": len(refunds)})
    if types != +wanted:
        yield f"events are {dict(types)}"
    bodies = {str(id_): bytes(body) for id_, _, body in events}  # type: ignore[call-overload]
    objects = [json.loads(body)["data"]["object"] for body in bodies.values()]
    paid = Counter(each["payment_request"] for each in objects if each.get("object") != "refund")
    if paid != Counter(customer.request_id for customer in customers):
        yield "the events are not one for each order"
    if Counter(each["id"] for each in objects if each.get("object") == "refund") != Counter(refunds):
        yield "the events are not one for each refund"
    heard = {call.headers["Service-Event-Id"] for call in received}
    if heard != bodies.keys():
        missed, unknown = len(bodies.keys() - heard), len(heard - bodies.keys())
        yield f"{missed} events were not heard, and {unknown} that were heard are none"
    for call in received:
        if call.body != bodies.get(call.headers["Service-Event-Id"]):
            yield f"{call.headers['Service-Event-Id']} was sent with other bytes"
        if not _is_signed(call, secret):
            yield f"{call.headers['Service-Event-Id']} was sent with a wrong signature"
    waiting = connection.execute(
        "SELECT count(*) FROM webhooks_delivery WHERE status <> 'delivered'"
    ).fetchone()
    if waiting != (0,):
        yield f"{waiting} deliveries have not arrived"


def _is_signed(call: Received, secret: str) -> bool:
    parts = dict(part.split("=", 1) for part in call.signature.split(","))
    signed = f"{parts['t']}.".encode() + call.body
    return hmac.compare_digest(hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest(), parts["v1"])
