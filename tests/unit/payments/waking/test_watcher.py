"""One process at a time watches the heads of chains with open payments. If it dies, another takes over."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.utils import timezone

from chains.models import Chain, Token
from config.due_work import listening
from merchants.models import Merchant
from payments.models import Payment
from payments.waking import watcher
from payments.waking.watcher import HeadWatcher
from tests.processes import eventually
from tests.support.operations.read_only import demoted
from tests.support.payments.rows import change
from tests.support.payments.world import make_request, submit
from tests.unit.chains.heads.test_follower import Nodes

pytestmark = pytest.mark.django_db(transaction=True)

RECIPIENT = "0x23618e81E3f5cdF7f54C3d65f7FBc0aBf5B21E8f"
CHAIN = 4_244


@pytest.fixture
def token(db: None) -> Token:
    chain = Chain.objects.create(id=CHAIN, name="Dead", chain_type="evm", rpc_urls=[], native_symbol="ETH")
    return Token.objects.create(chain=chain, symbol="ETH", name="Ether", decimals=18, contract_address="")


@pytest.fixture
def payment(merchant: Merchant, token: Token) -> Payment:
    return submit(make_request(merchant, token, "1", RECIPIENT), "0x" + "1" * 64)


@pytest.fixture
def watching(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Nodes], HeadWatcher]]:
    monkeypatch.setattr(watcher, "_WAIT_SECONDS", 0.02)
    monkeypatch.setattr(watcher, "_LOOK_SECONDS", 0.02)
    monkeypatch.setattr(watcher, "_LINGER_SECONDS", 0.05)
    started: list[HeadWatcher] = []

    def start(nodes: Nodes) -> HeadWatcher:
        client: Any = lambda _: nodes  # noqa: E731 - a client for any chain
        made = HeadWatcher(client=client)
        made.start()
        started.append(made)
        return made

    yield start
    for each in started:
        each.stop()


def test_a_new_head_makes_the_payment_due(watching: Callable[[Nodes], HeadWatcher], payment: Payment) -> None:
    later = timezone.now() + timedelta(hours=1)
    change(payment, block_number=5, next_check_at=later)
    watching(Nodes(7))
    eventually(
        lambda: Payment.objects.get(pk=payment.pk).lookup.next_check_at != later, "the block made it due"
    )


def test_a_chain_without_open_payments_is_not_asked(
    watching: Callable[[Nodes], HeadWatcher], payment: Payment
) -> None:
    nodes = Nodes(7)
    made = watching(nodes)
    eventually(lambda: made.followed == [CHAIN], "it follows the chain")
    change(payment, status="failed", next_check_at=None)
    eventually(lambda: made.followed == [], "it has left the chain")


def test_only_one_process_watches_and_another_takes_over(
    watching: Callable[[Nodes], HeadWatcher], payment: Payment
) -> None:
    first = watching(Nodes(7))
    eventually(lambda: first.followed == [CHAIN], "the first one watches")
    second = watching(Nodes(7))
    first_look = [second.followed for _ in range(3)]
    assert first_look == [[], [], []]
    first.stop()
    eventually(lambda: second.followed == [CHAIN], "the second one took over")


def test_a_watch_that_lost_its_connection_ends_and_begins_again(
    watching: Callable[[Nodes], HeadWatcher], payment: Payment
) -> None:
    made = watching(Nodes(7))
    eventually(lambda: made.followed == [CHAIN], "it watches")
    follower = made._followers[CHAIN]
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND objid = %s",
            [watcher._LOCK],
        )
    eventually(
        lambda: made.followed == [CHAIN] and made._followers[CHAIN] is not follower, "it watches again"
    )


def test_watch_leaves_a_demoted_primary_and_begins_again(
    watching: Callable[[Nodes], HeadWatcher], payment: Payment
) -> None:
    made = watching(Nodes(7))
    eventually(lambda: made.followed == [CHAIN], "it watches")
    follower = made._followers[CHAIN]
    with demoted(**connection.get_connection_params()):
        eventually(
            lambda: made.followed == [CHAIN] and made._followers[CHAIN] is not follower,
            "it watches over another connection",
        )


def test_process_that_waits_to_watch_leaves_a_demoted_primary(
    watching: Callable[[Nodes], HeadWatcher], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[psycopg.Connection[Any]] = []

    def connect() -> psycopg.Connection[Any]:
        opened.append(listening.connect())
        return opened[-1]

    monkeypatch.setattr(watcher, "connect", connect)
    with listening.connect() as other:
        other.execute("SELECT pg_advisory_lock(%s)", [watcher._LOCK])
        watching(Nodes(7))
        eventually(lambda: len(opened) == 1, "it waits for the lock")
        with demoted(**connection.get_connection_params()):
            eventually(lambda: len(opened) == 2, "it waits over another connection")
        assert opened[0].closed
