"""A hash that was entered for the wrong network is found on the right one, as far as the chains answer."""

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from limits import parse
from solders.keypair import Keypair

from chains.models import Chain, Token
from checkout.fan_out import THREADS_PER_CHAIN
from checkout.pages import locate_transaction
from payments.models import Payment
from tests.chain import LocalChain
from tests.support.chains.faulty_node import Exchange, serving
from tests.support.checkout.bare import Bare
from tests.support.swaps.world import make_second_row

Checkout = Callable[..., dict[str, Any]]
UNKNOWN = "0x" + "77" * 32
HANGS_SECONDS = 10


@pytest.fixture
def second(db: None, other_local_chain: LocalChain, settings: Any) -> Chain:
    """Another chain that can be paid from."""
    settings.ROUTING_PROVIDERS = ["lifi"]
    return make_second_row(other_local_chain)


@pytest.fixture
def sent_elsewhere(other_local_chain: LocalChain) -> str:
    """A transaction on the second chain."""
    return other_local_chain.transfer("", other_local_chain.recipient, 1)


def enter(order: dict[str, Any], transaction_hash: str) -> int:
    """Enter the hash for the requested network, which the form offers first; return the chain it is followed on."""
    Bare(order).paste(transaction_hash)
    return Payment.objects.get().chain_id


def test_it_is_followed_where_it_is(checkout: Checkout, second: Chain, sent_elsewhere: str) -> None:
    assert enter(checkout(), sent_elsewhere) == second.pk


def test_the_network_that_was_chosen_stays_where_it_has_it(
    checkout: Checkout, second: Chain, local_chain: LocalChain
) -> None:
    sent = local_chain.transfer("", local_chain.recipient, 1)
    assert enter(checkout(), sent) == local_chain.chain_id != second.pk


@pytest.mark.usefixtures("second")
def test_the_network_that_was_chosen_stays_where_nobody_has_it(
    checkout: Checkout, local_chain: LocalChain
) -> None:
    """It may not have got about yet."""
    assert enter(checkout(), UNKNOWN) == local_chain.chain_id


@pytest.mark.usefixtures("second")
def test_a_chosen_network_that_does_not_answer_is_not_judged(
    checkout: Checkout, chain: Chain, sent_elsewhere: str
) -> None:
    chain.rpc_urls = ["http://127.0.0.1:9"]
    chain.save()
    assert enter(checkout(), sent_elsewhere) == chain.pk


def test_another_network_that_does_not_answer_holds_nothing_up(
    checkout: Checkout, second: Chain, local_chain: LocalChain
) -> None:
    second.rpc_urls = ["http://127.0.0.1:9"]
    second.save()
    assert enter(checkout(), UNKNOWN) == local_chain.chain_id


def test_networks_that_hang_hold_nobody_up_however_many_ask(
    checkout: Checkout, second: Chain, local_chain: LocalChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locate_transaction, "DEADLINE_SECONDS", 0.2)

    def hang(exchange: Exchange) -> None:
        node.released.wait(HANGS_SECONDS)
        exchange.send(503, b"")

    with serving(hang, chain_id=second.pk) as node:
        second.rpc_urls = [node.url]
        second.save()
        for number in range(THREADS_PER_CHAIN + 1):
            begun = time.monotonic()
            order = checkout()
            Bare(order).paste(f"0x{number:064x}")
            assert time.monotonic() - begun < HANGS_SECONDS
        assert {payment.chain_id for payment in Payment.objects.all()} == {local_chain.chain_id}
        waiting = [one for one in threading.enumerate() if one.name.startswith(f"chain-{second.pk}_")]
        assert 0 < len(waiting) <= THREADS_PER_CHAIN


@pytest.mark.usefixtures("second")
def test_beyond_the_limits_nodes_are_not_asked_and_the_hash_is_taken_all_the_same(
    checkout: Checkout, local_chain: LocalChain, sent_elsewhere: str, settings: Any
) -> None:
    settings.RATE_LIMIT_EXPENSIVE = parse("1/hour")
    order = checkout()
    Bare(order).paste(UNKNOWN)
    Bare(order).paste(sent_elsewhere)
    assert {payment.chain_id for payment in Payment.objects.all()} == {local_chain.chain_id}


def test_without_swaps_there_is_no_other_network(
    checkout: Checkout, second: Chain, local_chain: LocalChain, sent_elsewhere: str, settings: Any
) -> None:
    settings.ROUTING_PROVIDERS = []
    assert enter(checkout(), sent_elsewhere) == local_chain.chain_id != second.pk


def test_a_hash_of_another_kind_of_network_is_followed_there(
    checkout: Checkout, second: Chain, solana_usdc: Token, sent_elsewhere: str
) -> None:
    of_solana = {"token_id": solana_usdc.id, "chain_id": solana_usdc.chain_id}
    order = checkout(recipient_address=str(Keypair().pubkey()), **of_solana)
    assert enter(order, sent_elsewhere) == second.pk


@pytest.mark.usefixtures("second")
def test_a_hash_of_another_kind_that_no_network_has_is_refused(
    checkout: Checkout, solana_usdc: Token
) -> None:
    of_solana = {"token_id": solana_usdc.id, "chain_id": solana_usdc.chain_id}
    browser = Bare(checkout(recipient_address=str(Keypair().pubkey()), **of_solana))
    answer = browser.send(f"{browser.start}/sent", transaction_hash=UNKNOWN)
    assert (answer.status_code, f'value="{UNKNOWN}"' in answer.content.decode()) == (400, True)
    assert not Payment.objects.exists()


def test_after_a_proof_no_other_network_is_offered(
    checkout: Checkout, second: Chain, local_chain: LocalChain
) -> None:
    browser = Bare(checkout())
    assert second.name in browser.open(browser.start).content.decode()
    shown = browser.open(browser.prove(local_chain)).content.decode()
    assert second.name not in shown
    assert f'name="chain_id" value="{local_chain.chain_id}"' in shown
