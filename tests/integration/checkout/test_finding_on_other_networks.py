"""If a hash is entered for the wrong network, the service finds it on the right one, if the nodes respond."""

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
    """A second chain that customers can pay from."""
    settings.ROUTING_PROVIDERS = ["lifi"]
    return make_second_row(other_local_chain)


@pytest.fixture
def sent_elsewhere(other_local_chain: LocalChain) -> str:
    """A transaction on the second chain."""
    return other_local_chain.transfer("", other_local_chain.recipient, 1)


def enter(order: dict[str, Any], transaction_hash: str) -> int:
    """Enter the hash with the preselected network, the requested one; return the chain on which it is looked up."""
    Bare(order).paste(transaction_hash)
    return Payment.objects.get().chain_id


def test_hash_is_followed_on_the_chain_that_has_it(
    checkout: Checkout, second: Chain, sent_elsewhere: str
) -> None:
    assert enter(checkout(), sent_elsewhere) == second.pk


def test_chosen_network_with_the_hash_is_kept(
    checkout: Checkout, second: Chain, local_chain: LocalChain
) -> None:
    sent = local_chain.transfer("", local_chain.recipient, 1)
    assert enter(checkout(), sent) == local_chain.chain_id != second.pk


@pytest.mark.usefixtures("second")
def test_chosen_network_without_a_node_is_kept(checkout: Checkout, chain: Chain, sent_elsewhere: str) -> None:
    chain.rpc_urls = ["http://127.0.0.1:9"]
    chain.save()
    assert enter(checkout(), sent_elsewhere) == chain.pk


def test_dead_node_of_another_network_delays_nothing(
    checkout: Checkout, second: Chain, local_chain: LocalChain
) -> None:
    second.rpc_urls = ["http://127.0.0.1:9"]
    second.save()
    assert enter(checkout(), UNKNOWN) == local_chain.chain_id


def test_hanging_networks_delay_no_customer(
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
def test_rate_limited_hash_is_stored_without_a_search(
    checkout: Checkout, local_chain: LocalChain, sent_elsewhere: str, settings: Any
) -> None:
    settings.RATE_LIMIT_EXPENSIVE = parse("1/hour")
    order = checkout()
    Bare(order).paste(UNKNOWN)
    Bare(order).paste(sent_elsewhere)
    assert {payment.chain_id for payment in Payment.objects.all()} == {local_chain.chain_id}


def test_no_other_network_is_searched_without_swaps(
    checkout: Checkout, second: Chain, local_chain: LocalChain, sent_elsewhere: str, settings: Any
) -> None:
    settings.ROUTING_PROVIDERS = []
    assert enter(checkout(), sent_elsewhere) == local_chain.chain_id != second.pk


def test_hash_of_another_family_is_followed_there(
    checkout: Checkout, second: Chain, solana_usdc: Token, sent_elsewhere: str
) -> None:
    of_solana = {"token_id": solana_usdc.id, "chain_id": solana_usdc.chain_id}
    order = checkout(recipient_address=str(Keypair().pubkey()), **of_solana)
    assert enter(order, sent_elsewhere) == second.pk


def test_no_other_network_is_offered_after_a_proof(
    checkout: Checkout, second: Chain, local_chain: LocalChain
) -> None:
    browser = Bare(checkout())
    assert second.name in browser.open(browser.start).content.decode()
    shown = browser.open(browser.prove(local_chain)).content.decode()
    assert second.name not in shown
    assert f'name="chain_id" value="{local_chain.chain_id}"' in shown
