"""If the page is closed before the hash is submitted, discovery still finds the payment, and only once."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from chains.client import Discovery, SearchLimits, Watch
from chains.families import get_client
from chains.models import Chain, Token
from demo.services import anvil
from merchants.models import Merchant
from payments.models import DiscoveryCursor, MerchantCursor, Payment, PaymentRequest, Route
from tests.chain import LocalChain
from tests.support.payments.fake_search import BY_BLOCK, Limited, watch_many
from tests.support.payments.world import Clock, look_until_decided, make_request, pay
from tests.support.solana.ledger import LocalLedger, new_address
from tests.support.solana.world import built_for
from tests.verifying import discover_due

IDLE = timedelta(hours=12)
Make = Callable[..., PaymentRequest]


def with_built_route(request: PaymentRequest) -> PaymentRequest:
    now = timezone.now()
    Route.objects.create(
        request=request,
        wallet_address="",
        chain=request.chain,
        token=request.token,
        amount=request.amount,
        expires_at=now,
        built_at=now,
    )
    return request


@pytest.fixture
def from_here(chain: Chain, local_chain: LocalChain) -> None:
    """Discovery starts at the next block, so that it doesn't find transactions of other tests."""
    height = int(local_chain.rpc("eth_blockNumber"), 16)
    DiscoveryCursor.objects.create(chain=chain, next_block=height + 1)


@pytest.mark.usefixtures("each_kind", "from_here")
def test_it_is_found_by_its_reference_and_completed(request_for: Make, local_chain: LocalChain) -> None:
    request = with_built_route(request_for())
    with_built_route(request_for())
    sent, clock = pay(local_chain, request), Clock()
    assert discover_due(now=clock) == 1
    payment = Payment.objects.get()
    assert (payment.transaction_hash, payment.submitted_publicly) == (sent, False)
    assert look_until_decided(payment, clock).status == Payment.Status.COMPLETED
    DiscoveryCursor.objects.update(next_block=None)
    clock.forward(seconds=30)
    assert discover_due(now=clock) == 0
    assert Payment.objects.count() == 1


@pytest.mark.usefixtures("from_here")
def test_a_transfer_without_a_known_reference_is_nobodys(request_for: Make, local_chain: LocalChain) -> None:
    with_built_route(request_for())
    local_chain.transfer(local_chain.usdc, local_chain.recipient, 10_000_000, tail=b"\7" * 16)
    local_chain.transfer(local_chain.usdc, local_chain.recipient, 10_000_000)
    assert discover_due() == 0
    assert not Payment.objects.exists()


@pytest.mark.usefixtures("from_here")
@pytest.mark.parametrize(("hours", "found"), [(23, 1), (25, 0)])
def test_it_is_looked_for_until_a_day_after_the_end(
    request_for: Make, local_chain: LocalChain, hours: int, found: int
) -> None:
    request = with_built_route(request_for())
    ended = timezone.now() - timedelta(hours=hours)
    PaymentRequest.objects.filter(pk=request.pk).update(status="expired", expired_at=ended)
    with_built_route(request_for())
    pay(local_chain, request)
    assert discover_due() == found


@pytest.mark.usefixtures("from_here")
def test_one_query_serves_all_requests_of_a_chain(request_for: Make, chain: Chain) -> None:
    for _ in range(30):
        with_built_route(request_for())
    client = Limited(chain, BY_BLOCK)
    discover_due(client=client)
    assert client.searches == 1


def test_two_searchers_never_search_one_chain_together(request_for: Make, chain: Chain) -> None:
    with_built_route(request_for())
    clock, searches = Clock(), []

    class Rival:
        def __getattr__(self, name: str) -> Any:
            return getattr(get_client(chain), name)

        def discover(self, watches: list[Watch], **blocks: int | None) -> Discovery:
            searches.append(discover_due(client=lambda _: Rival(), now=clock))
            return Discovery((), (blocks["until_block"] or 0) + 1)

    discover_due(client=lambda _: Rival(), now=clock)
    assert searches == [0]


@pytest.mark.usefixtures("from_here")
def test_a_long_gap_is_searched_in_bounded_steps(
    request_for: Make, local_chain: LocalChain, chain: Chain
) -> None:
    request, clock = with_built_route(request_for()), Clock()
    MerchantCursor.objects.create(
        chain=chain,
        merchant=request.merchant,
        next_block=DiscoveryCursor.objects.get().next_block,
        searched_at=clock(),
    )
    local_chain.mine(1500)
    pay(local_chain, request)
    client = Limited(chain, replace(BY_BLOCK, searches=1))
    assert discover_due(client=client, now=clock) == 0
    clock.forward(seconds=10)
    assert discover_due(client=client, now=clock) == 1
    assert client.searches == 2


@pytest.mark.usefixtures("each_kind", "from_here")
def test_other_merchants_newer_requests_do_not_hide_a_payment(
    request_for: Make, local_chain: LocalChain, chain: Chain, usdc: Token, other_merchant: Merchant
) -> None:
    request, clock = with_built_route(request_for()), Clock()
    watch_many(other_merchant, usdc, 11)
    sent = pay(local_chain, request)
    client = Limited(chain, SearchLimits(by_block=True, watches=10, searches=1))
    found = []
    for _ in range(2):
        found.append(discover_due(client=client, now=clock))
        clock.forward(seconds=10)
    assert sum(found) == 1
    assert Payment.objects.get().transaction_hash == sent


@pytest.fixture
def quiet_chain() -> Iterator[LocalChain]:
    """A separate chain without recent transactions."""
    idle_since = int(time.time() - IDLE.total_seconds())
    running = anvil.start(chain_id=31339, extra_args=["--timestamp", str(idle_since), "--prune-history"])
    try:
        yield LocalChain.prepare(running.url, running.chain_id)
    finally:
        running.stop()


def test_after_idle_time_a_payment_is_found_in_the_first_pass(
    merchant: Merchant, quiet_chain: LocalChain
) -> None:
    chain = Chain.objects.create(
        id=quiet_chain.chain_id,
        name="Quiet Chain",
        chain_type="evm",
        rpc_urls=[quiet_chain.url],
        native_symbol="ETH",
        block_time_ms=1000,
    )
    token = Token.objects.create(
        chain=chain, symbol="USDC", name="USD Coin", decimals=6, contract_address=quiet_chain.usdc
    )
    idle_since = timezone.now() - IDLE
    DiscoveryCursor.objects.create(
        chain=chain, next_block=get_client(chain).head() + 1, searched_at=idle_since
    )
    for _ in range(3):
        quiet_chain.mine(500)
    quiet_chain.rpc("anvil_setNextBlockTimestamp", hex(int(time.time())))
    request = with_built_route(make_request(merchant, token, "10", quiet_chain.recipient))
    pay(quiet_chain, request)
    client = Limited(chain, replace(BY_BLOCK, searches=1))
    assert discover_due(client=client) == 1
    assert client.searches == 1


def test_solana_searches_take_turns_if_watches_exceed_the_limit(
    merchant: Merchant,
    other_merchant: Merchant,
    solana: Chain,
    solana_usdc: Token,
    local_ledger: LocalLedger,
) -> None:
    recipient = new_address()
    first, last = (make_request(merchant, solana_usdc, "2", recipient) for _ in range(2))
    sent = {local_ledger.finalize(local_ledger.sign_and_send(built_for(first, local_ledger.payer)))}
    watch_many(other_merchant, solana_usdc, 7)
    sent.add(local_ledger.finalize(local_ledger.sign_and_send(built_for(last, local_ledger.payer))))
    client = Limited(solana, SearchLimits(by_block=False, watches=3, searches=1))
    clock, found = Clock(), []
    for _ in range(4):
        found.append(discover_due(client=client, now=clock))
        clock.forward(seconds=10)
    assert sum(found[:2]) == 2  # the other merchant's seven don't delay these
    assert set(Payment.objects.values_list("transaction_hash", flat=True)) == sent
    assert client.searches == 4
