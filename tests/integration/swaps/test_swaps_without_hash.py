"""If a wallet returns no hash for a swap, discovery finds it by its quote's id in the router's logs."""

import secrets
from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from chains.models import Chain
from demo.aggregator.contracts import ROUTER, BridgeCall, bridge_data
from payments.discovery.quotes import MAX_OF_OTHER_SENDERS, watched_quotes
from payments.models import DiscoveryCursor, Payment, PaymentRequest, Quote
from tests.chain import LocalChain
from tests.fault_proxy import Json, forged, proxying
from tests.support.payments.world import Clock
from tests.support.swaps.fixtures import NewCustomer
from tests.support.swaps.following import follow_until_decided
from tests.support.swaps.paying import Customer
from tests.support.swaps.scripted import NATIVE, PINNED, Scripted
from tests.support.swaps.world import SwapWorld
from tests.verifying import discover_due
from webhooks.models import Event

STRANGERS_KEY = "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d"


def send_without_submitting(world: SwapWorld, customer: Customer, symbol: str) -> str:
    """Pay as the page does, with a wallet that returns no hash; return the hash."""
    route = customer.routes(world.token(world.first_row, symbol))[0]
    for unsigned in customer.approval(route)["transactions"]:
        world.sign_and_send(world.first, unsigned)
    return world.sign_and_send(world.first, customer.built(route)["transaction"])


def bridge_call(chain: LocalChain, ids: bytes, key: str | None = None) -> str:
    """Call the router with this quote id, which anyone who knows it can do; return the hash."""
    call = BridgeCall(ids, "mock", "stranger", NATIVE, chain.recipient, 1, 31338, b"\1" * 20, False)
    return chain.send(
        {
            "chainId": chain.chain_id,
            "to": ROUTER,
            "value": 1,
            "data": "0x" + bridge_data(call).hex(),
            "gas": 300_000,
            "maxFeePerGas": 10**11,
            "maxPriorityFeePerGas": 10**9,
        },
        key,
    )


@pytest.mark.parametrize(
    ("symbol", "is_bridge", "packed"),
    [("ETH", True, False), ("DAI", False, False), ("ETH", True, True)],
    ids=["bridge", "swap on one chain", "packed call"],
)
def test_swap_whose_hash_was_not_submitted_completes(
    new_customer: NewCustomer, swap_world: SwapWorld, symbol: str, is_bridge: bool, packed: bool
) -> None:
    world = swap_world
    world.aggregator.set(packed=packed)
    customer = new_customer(world.token(world.second_row if is_bridge else world.first_row, "USDC"))
    sent = send_without_submitting(world, customer, symbol)
    if is_bridge:
        world.aggregator.delivered(sent)

    assert discover_due() == 1

    payment = Payment.objects.get()
    assert (payment.transaction_hash, payment.chain, payment.submitted_publicly) == (
        sent,
        world.first_row,
        False,
    )
    assert payment.route is not None
    payment = follow_until_decided(payment.pk, Clock())
    assert (payment.status, payment.type, payment.bound_by) == ("completed", "swap", "provider")
    assert PaymentRequest.objects.get().status == PaymentRequest.Status.COMPLETED
    assert discover_due(now=in_a_minute) == 0
    assert Event.objects.filter(type="payment.succeeded").count() == 1


def in_a_minute() -> datetime:
    return timezone.now() + timedelta(minutes=1)


def test_found_swap_that_is_submitted_later_is_one_payment(
    new_customer: NewCustomer, swap_world: SwapWorld
) -> None:
    customer = new_customer(swap_world.token(swap_world.second_row, "USDC"))
    sent = send_without_submitting(swap_world, customer, "ETH")
    assert discover_due() == 1
    response = customer.public.post(
        f"{customer.page}/payments", {"transaction_hash": sent, "chain_id": swap_world.first_row.pk}
    )
    assert (response.status_code, response.json()["id"]) == (200, Payment.objects.get().pk)


def test_strangers_transactions_with_the_id_hide_no_payment(scripted: Scripted) -> None:
    quote = built_quote(scripted)
    strangers = [
        bridge_call(scripted.world.first, bytes(quote.bound_by), STRANGERS_KEY)
        for _ in range(MAX_OF_OTHER_SENDERS + 2)
    ]
    own = bridge_call(scripted.world.first, bytes(quote.bound_by))
    assert discover_due() == MAX_OF_OTHER_SENDERS + 1
    found = set(Payment.objects.values_list("transaction_hash", flat=True))
    assert found == {*strangers[:MAX_OF_OTHER_SENDERS], own}


def test_log_that_no_transaction_has_makes_no_payment(scripted: Scripted) -> None:
    quote = built_quote(scripted)
    innocent = bridge_call(scripted.world.first, secrets.token_bytes(32))
    shown: list[str] = []

    def with_id(logs: Json) -> Json:
        shown.extend(log["transactionHash"] for log in logs)
        return [{**log, "data": "0x" + bytes(quote.bound_by).hex()} for log in logs]

    with proxying(scripted.world.first.url) as node:
        node.break_with(forged("eth_getLogs", with_id))
        Chain.objects.filter(pk=scripted.world.first_row.pk).update(rpc_urls=[node.url])
        assert discover_due() == 0
    assert innocent in shown
    assert not Payment.objects.exists()


def test_id_counts_only_in_logs_of_its_own_provider(scripted: Scripted) -> None:
    row = scripted.world.first_row
    row.routers = {"lifi": [PINNED], "relay": [ROUTER]}
    row.save(update_fields=["routers"])
    by_lifi, by_relay = (built_quote(scripted, provider=name) for name in ("lifi", "relay"))
    for quote in (by_lifi, by_relay):
        bridge_call(scripted.world.first, bytes(quote.bound_by))
    assert discover_due() == 1
    assert Payment.objects.get().route == by_relay.route


def test_search_that_fails_is_repeated_in_the_same_blocks(scripted: Scripted) -> None:
    quote = built_quote(scripted)
    sent = bridge_call(scripted.world.first, bytes(quote.bound_by))
    row = Chain.objects.filter(pk=scripted.world.first_row.pk)
    row.update(rpc_urls=["http://127.0.0.1:9"])
    assert discover_due() == 0
    assert DiscoveryCursor.objects.get().quotes_next_block is None
    row.update(rpc_urls=[scripted.world.first.url])
    assert discover_due(now=in_a_minute) == 1
    assert Payment.objects.get().transaction_hash == sent
    cursor = DiscoveryCursor.objects.get()
    assert cursor.quotes_searched_at is not None
    # The newest blocks are searched again.
    assert (cursor.quotes_next_block or 0) <= int(scripted.world.first.rpc("eth_blockNumber"), 16) - 19


def test_quotes_are_watched_until_a_day_after_the_request(scripted: Scripted) -> None:
    now = timezone.now()
    cursor = DiscoveryCursor.objects.create(chain=scripted.world.first_row)
    quote = built_quote(scripted)
    scripted.quote(quote.route.request, is_built=False)
    assert list(watched_quotes(cursor, now)) == [quote]
    request = PaymentRequest.objects.filter(pk=quote.route.request_id)
    request.update(status="expired", expired_at=now, expires_at=now)
    Quote.objects.filter(pk=quote.pk).update(watched_until=now)
    assert list(watched_quotes(cursor, now + timedelta(hours=23))) == [quote]
    assert list(watched_quotes(cursor, now + timedelta(hours=25))) == []
    # There was no search since then. Transactions sent in the meantime are still found.
    cursor.quotes_searched_at = now
    assert list(watched_quotes(cursor, now + timedelta(hours=25))) == [quote]


def built_quote(scripted: Scripted, **different: str) -> Quote:
    """Return a quote whose transaction the customer has received."""
    request = scripted.request()
    return scripted.quote(request, watched_until=request.expires_at, **different)
