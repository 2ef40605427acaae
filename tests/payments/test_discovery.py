"""A payment whose page was closed before its hash was submitted is found all the same, once."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from chains.clients import get_client
from chains.clients.base import Discovery, Watch
from chains.models import Chain, Token
from payments.discovery import discover_due
from payments.models import DiscoveryCursor, Payment, PaymentRequest, Route
from tests.chain import LocalChain
from tests.payments.world import Clock, look_until_decided, pay

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
    """The search begins at the next block, whatever other tests have put on the chain."""
    height = int(local_chain.rpc("eth_blockNumber"), 16)
    DiscoveryCursor.objects.create(chain=chain, next_block=height + 1)


@pytest.mark.usefixtures("from_here")
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
    calls: list[int] = []

    class Counting:
        def __getattr__(self, name: str) -> Any:
            return getattr(get_client(chain), name)

        def discover(self, watches: list[Watch], **blocks: int | None) -> Discovery:
            calls.append(len(watches))
            return get_client(chain).discover(watches, **blocks)

    discover_due(client=lambda _: Counting())
    assert calls == [30]


def test_two_searchers_never_search_one_chain_together(request_for: Make, chain: Chain) -> None:
    with_built_route(request_for())
    clock, searches = Clock(), []

    class Rival:
        def __getattr__(self, name: str) -> Any:
            return getattr(get_client(chain), name)

        def discover(self, watches: list[Watch], **blocks: int | None) -> Discovery:
            searches.append(discover_due(client=lambda _: Rival(), now=clock))
            return Discovery((), 1)

    discover_due(client=lambda _: Rival(), now=clock)
    assert searches == [0]


@pytest.mark.usefixtures("from_here")
def test_a_long_gap_is_searched_in_bounded_steps(
    request_for: Make, local_chain: LocalChain, usdc: Token
) -> None:
    request, clock = with_built_route(request_for()), Clock()
    local_chain.mine(1500)
    pay(local_chain, request)
    assert discover_due(now=clock) == 0
    clock.forward(seconds=10)
    assert discover_due(now=clock) == 1
