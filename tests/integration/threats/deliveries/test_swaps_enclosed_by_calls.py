"""A transfer lies within the call that carries a quote's id only where that call encloses it."""

from collections.abc import Iterator

import pytest

from chains.client import Mention, TransactionFacts
from chains.families.evm.client import EvmClient
from tests.support.threats.evm_world import USDC_UNIT, World, call_data, transfer_data
from tests.support.threats.real_accounts import execute_batch

pytest_plugins = ["tests.support.threats.evm_fixtures"]
AMOUNT = 10 * USDC_UNIT
RUN = "run((address,uint256,bytes,bool)[])"


@pytest.fixture
def router(world: World) -> str:
    """A contract that makes calls for others, with tokens of its own."""
    router = world.deploy("BatchPayer")
    world.fund(router)
    return router


def looked_up(world: World, url: str, sent: str, *watched: str) -> TransactionFacts:
    found = EvmClient([url], world.chain.chain_id).look_up([sent], with_finality=False, mentioning=watched)
    facts = found.transactions[sent]
    assert facts is not None
    return facts


def routed(world: World, note: bytes = b"") -> bytes:
    """Return the input of a call that has the router pay the merchant, with more than 256 bytes of it."""
    pay = transfer_data(world.chain.recipient, AMOUNT)
    return call_data(RUN, [(world.chain.usdc, 0, pay, False)]) + bytes(300) + note


def enclosing(facts: TransactionFacts) -> Iterator[list[Mention]]:
    for transfer in facts.transfers:
        yield [facts.mentions[place] for place in transfer.within]


@pytest.mark.parametrize("url", ["with traces", "without traces"])
def test_what_the_called_router_pays_lies_within_the_call(
    world: World, untraced_url: str, router: str, url: str
) -> None:
    data = routed(world, b"our id")
    sent = world.call(router, data)
    facts = looked_up(world, world.chain.url if url == "with traces" else untraced_url, sent, router)
    assert facts.mentions == (Mention(router, data),)
    assert list(enclosing(facts)) == [[Mention(router, data)]]


def test_in_a_batch_each_payment_lies_within_its_own_call(world: World, router: str) -> None:
    ours, theirs = routed(world, b"our id"), routed(world, b"their id")
    account = world.delegated(world.place("OpenBatch"))
    plain = (world.chain.usdc, 0, transfer_data(world.chain.recipient, 3))
    sent = account.run(execute_batch((router, 0, ours), plain, (router, 0, theirs)))
    facts = looked_up(world, world.chain.url, sent, router)
    assert facts.mentions == (Mention(router, ours), Mention(router, theirs))
    assert list(enclosing(facts)) == [[Mention(router, ours)], [], [Mention(router, theirs)]]


def test_a_delivery_completed_inside_anothers_swap_lies_within_both_calls(world: World, router: str) -> None:
    """The victim's delivery is made by a contract that the attacker's own swap calls; its id is the inner one."""
    bridge = world.deploy("BatchPayer")
    world.fund(bridge)
    delivery = routed(world, b"the victim's id")
    swap = call_data(RUN, [(bridge, 0, delivery, False)]) + b"the attacker's id"
    sent = world.call(router, swap)
    facts = looked_up(world, world.chain.url, sent, router, bridge)
    assert list(enclosing(facts)) == [[Mention(router, swap), Mention(bridge, delivery)]]


def test_without_a_trace_only_what_the_called_contract_itself_paid_lies_within_the_call(
    world: World, untraced_url: str, router: str
) -> None:
    """The router has the payer's tokens taken, and another contract pay."""
    bridge = world.deploy("BatchPayer")
    world.fund(bridge)
    swap = call_data(RUN, [(bridge, 0, routed(world), False)])
    sent = world.call(router, swap)
    assert list(enclosing(looked_up(world, untraced_url, sent, router))) == [[]]


def test_native_coin_lies_within_the_call_that_moved_it(world: World, router: str) -> None:
    pays = call_data(RUN, [(world.chain.recipient, 5, b"", False)])
    sent = world.call(router, pays, value=5)
    own, inner = enclosing(looked_up(world, world.chain.url, sent, router))
    assert own == []
    assert inner == [Mention(router, pays)]


def test_a_log_encloses_nothing(world: World, router: str) -> None:
    sent = world.call(router, routed(world))
    facts = looked_up(world, world.chain.url, sent, world.chain.usdc)
    assert [mention.is_log for mention in facts.mentions] == [False, True]
    assert [m.is_log for mentions in enclosing(facts) for m in mentions] == [False]
