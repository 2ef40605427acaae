"""A transfer belongs to the call with a quote's id only if that call encloses the transfer."""

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
    """A contract that makes calls for others and has its own tokens."""
    router = world.deploy("BatchPayer")
    world.fund(router)
    return router


def looked_up(world: World, url: str, sent: str, *watched: str) -> TransactionFacts:
    found = EvmClient([url], world.chain.chain_id).look_up([sent], with_finality=False, mentioning=watched)
    facts = found.transactions[sent]
    assert facts is not None
    return facts


def routed(world: World, note: bytes = b"") -> bytes:
    """Return the input of a call that has the router pay the merchant. It has more than 256 further bytes."""
    pay = transfer_data(world.chain.recipient, AMOUNT)
    return call_data(RUN, [(world.chain.usdc, 0, pay, False)]) + bytes(300) + note


def enclosing(facts: TransactionFacts) -> Iterator[list[Mention]]:
    for transfer in facts.transfers:
        yield [facts.mentions[place] for place in transfer.within]


@pytest.mark.parametrize("url", ["with traces", "without traces"])
def test_payment_of_the_called_router_lies_within_the_call(
    world: World, untraced_url: str, router: str, url: str
) -> None:
    data = routed(world, b"our id")
    sent = world.call(router, data)
    facts = looked_up(world, world.chain.url if url == "with traces" else untraced_url, sent, router)
    assert facts.mentions == (Mention(router, data),)
    assert list(enclosing(facts)) == [[Mention(router, data)]]


def test_each_payment_of_a_batch_lies_within_its_own_call(world: World, router: str) -> None:
    ours, theirs = routed(world, b"our id"), routed(world, b"their id")
    account = world.delegated(world.place("OpenBatch"))
    plain = (world.chain.usdc, 0, transfer_data(world.chain.recipient, 3))
    sent = account.run(execute_batch((router, 0, ours), plain, (router, 0, theirs)))
    facts = looked_up(world, world.chain.url, sent, router)
    assert facts.mentions == (Mention(router, ours), Mention(router, theirs))
    assert list(enclosing(facts)) == [[Mention(router, ours)], [], [Mention(router, theirs)]]


def test_delivery_inside_another_swap_lies_within_both(world: World, router: str) -> None:
    """The attacker's swap calls a contract that makes the victim's delivery. The delivery's id is the inner one."""
    bridge = world.deploy("BatchPayer")
    world.fund(bridge)
    delivery = routed(world, b"the victim's id")
    swap = call_data(RUN, [(bridge, 0, delivery, False)]) + b"the attacker's id"
    sent = world.call(router, swap)
    facts = looked_up(world, world.chain.url, sent, router, bridge)
    assert list(enclosing(facts)) == [[Mention(router, swap), Mention(bridge, delivery)]]


def test_payment_by_another_contract_needs_a_trace(world: World, untraced_url: str, router: str) -> None:
    """The router takes the payer's tokens, and another contract pays."""
    bridge = world.deploy("BatchPayer")
    world.fund(bridge)
    swap = call_data(RUN, [(bridge, 0, routed(world), False)])
    sent = world.call(router, swap)
    assert list(enclosing(looked_up(world, untraced_url, sent, router))) == [[]]
