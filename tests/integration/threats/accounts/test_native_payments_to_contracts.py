"""If a contract receives native coin, only the amount that it keeps counts, and only by the sender's proof."""

import requests

from chains.client import Transfer
from tests.support.chains.faulty_node import Exchange, serving
from tests.support.threats.evm_facts import REFERENCE, facts_by
from tests.support.threats.evm_world import World, call_data
from tests.support.threats.real_accounts import SIMPLE_7702

pytest_plugins = ["tests.support.threats.evm_fixtures"]
WEI = 10**16


def received(world: World, sent: str, shop: str, url: str) -> tuple[Transfer, bool]:
    facts = facts_by(world.chain, sent, url)
    [transfer] = [t for t in facts.transfers if t.recipient == shop and t.slot == "value"]
    return transfer, facts.is_complete


def claimable(transfer: Transfer) -> int:
    return transfer.amount if transfer.claimable is None else transfer.claimable


def test_contract_is_paid_what_it_kept_by_the_payers_proof(world: World, untraced_url: str) -> None:
    for shop in (world.safe().address, world.delegated(world.contracts.delegate(SIMPLE_7702)).address):
        sent = world.call(shop, value=WEI)
        transfer, _ = received(world, sent, shop, untraced_url)
        assert (transfer.made_by, claimable(transfer)) == (world.chain.payer, WEI)


def test_coin_that_a_contract_sends_back_is_not_claimable(world: World, untraced_url: str) -> None:
    shop = world.deploy("BouncingShop")
    sent = world.call(shop, value=WEI)
    transfer, is_complete = received(world, sent, shop, untraced_url)
    assert claimable(transfer) == 0
    assert not is_complete
    back = [t for t in facts_by(world.chain, sent, world.chain.url).transfers if t.sender == shop]
    assert [(t.recipient, t.amount) for t in back] == [(world.chain.payer, WEI)], "a trace shows it"


def test_input_of_a_contract_is_no_reference_without_a_trace(world: World, untraced_url: str) -> None:
    shop = world.deploy("Accomplice")  # makes its loaded call whenever it is called
    world.call(shop, call_data("load(address,bytes)", world.chain.recipient, b""))
    sent = world.call(shop, REFERENCE, value=WEI)
    transfer, is_complete = received(world, sent, shop, untraced_url)
    assert (transfer.references, transfer.made_by, is_complete) == ((), world.chain.payer, False)


def test_account_without_code_is_paid_at_any_gas_used(world: World, untraced_url: str) -> None:
    """Some chains add their own fees to the gas used. Then only the recipient's code shows that no code ran."""
    sent = world.call(world.chain.recipient, REFERENCE, value=WEI)

    def dearer(exchange: Exchange) -> None:
        answers = requests.post(untraced_url, json=exchange.asked, timeout=30).json()
        for answer in answers if isinstance(answers, list) else [answers]:
            if isinstance(answer.get("result"), dict) and "gasUsed" in answer["result"]:
                answer["result"]["gasUsed"] = hex(90_000)
        exchange.reply(answers)

    with serving(dearer) as node:
        transfer, is_complete = received(world, sent, world.chain.recipient, node.url)
    assert (transfer.references, transfer.made_by, transfer.claimable) == (
        (REFERENCE,),
        world.chain.payer,
        None,
    )
    assert is_complete
