"""The search for the transaction that used an authorization is bounded, also if `since_block` is wrong."""

from collections.abc import Callable, Collection, Sequence
from typing import Any, cast

import pytest
from django.utils import timezone

from chains.client import Block, Head, Snapshot
from chains.facts.authorizations import AuthorizationStates
from chains.models import Chain
from config.due_work.leases import Lease
from payments.models import Authorization, PaymentRequest
from payments.sponsoring import settling
from payments.sponsoring.uses import MAX_BLOCKS
from tests.support.payments.relays import new_authorization

pytestmark = pytest.mark.django_db

HEAD = 20_000_000
Key = tuple[str, str, bytes]


class Node:
    """A chain on which all authorizations were used, but no node returns the transactions."""

    cosigning = None

    def __init__(self) -> None:
        self.searched: list[tuple[int, int]] = []
        self.after_search: Callable[[], None] = lambda: None

    @property
    def authorizations(self) -> "Node":
        return self

    def look_up(self, hashes: Sequence[str], *, with_finality: bool) -> Snapshot:
        return Snapshot(Head(HEAD, finalized=HEAD), {})

    def states(self, keys: Sequence[Key], *, at_block: int) -> AuthorizationStates:
        return AuthorizationStates(Block(at_block, "0x", timezone.now()), dict.fromkeys(keys, True))

    def find_uses(
        self, keys: Collection[Key], *, since_block: int, until_block: int
    ) -> dict[Key, frozenset[str]]:
        self.searched.append((since_block, until_block))
        self.after_search()
        return {}


def due(request: PaymentRequest, since_block: int) -> Authorization:
    return new_authorization(request, since_block=since_block, next_check_at=timezone.now())


def settle(chain: Chain, node: Node) -> None:
    settling.settle_due(chain.pk, client=lambda _: cast(Any, node))


@pytest.mark.parametrize(
    ("since", "ranges"),
    [
        (HEAD - 100, [(HEAD - 100, HEAD)]),
        (0, [(0, MAX_BLOCKS - 1), (HEAD - MAX_BLOCKS + 1, HEAD)]),
        (
            HEAD - MAX_BLOCKS - 10,
            [(HEAD - MAX_BLOCKS - 10, HEAD - MAX_BLOCKS), (HEAD - MAX_BLOCKS + 1, HEAD)],
        ),
        (2**40, [(HEAD - MAX_BLOCKS + 1, HEAD)]),
    ],
)
def test_search_covers_the_first_and_the_newest_blocks(
    chain: Chain, request_for: Callable[..., PaymentRequest], since: int, ranges: list[tuple[int, int]]
) -> None:
    due(request_for(), since)
    settle(chain, node := Node())
    assert node.searched == ranges


def test_wrong_first_block_widens_no_other_search(
    chain: Chain, request_for: Callable[..., PaymentRequest]
) -> None:
    for since in (HEAD - 50, 0, HEAD - 100, 2**40):
        due(request_for(), since)
    settle(chain, node := Node())
    assert node.searched[2:] == [(HEAD - MAX_BLOCKS + 1, HEAD)]
    assert sum(last - first + 1 for first, last in node.searched) <= 3 * MAX_BLOCKS


def test_search_stops_when_the_lease_is_lost(
    chain: Chain, request_for: Callable[..., PaymentRequest], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [due(request_for(), since) for since in (0, HEAD - 100)]
    node = Node()
    node.after_search = lambda: monkeypatch.setattr(Lease, "holds", lambda *_: False)
    # Without a result for a day, an authorization that was searched for times out.
    monkeypatch.setattr(settling, "_is_timed_out", lambda *_: True)
    settle(chain, node)
    assert node.searched == [(0, MAX_BLOCKS - 1), (HEAD - MAX_BLOCKS + 1, HEAD)]
    for row in rows:
        row.refresh_from_db()
    assert [row.ended_at is None for row in rows] == [False, True]
