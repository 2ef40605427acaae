"""If one transaction makes a node cut the connection or garble the response, other payments are not affected."""

from collections.abc import Callable

import pytest
from eth_utils.address import to_checksum_address

from chains.client import ChainError
from chains.families import get_client
from chains.families.evm.client import EvmClient
from chains.models import Chain
from tests import fault_proxy
from tests.chain import LocalChain
from tests.fault_proxy import Exchange, Fault, FaultProxy, Json, proxying
from tests.support.chains.mining import mined
from tests.support.nodes.limits import call_by_call, untraced
from tests.support.solana.ledger import LocalLedger, new_address

Nodes = Callable[[int], list[FaultProxy]]
Clients = Callable[[list[FaultProxy]], EvmClient]
RECEIPT = "eth_getTransactionReceipt"


def odd_error(exchange: Exchange) -> None:
    """Forward everything, but return errors in another format than JSON-RPC's for receipts."""
    answers = exchange.truth()
    for question, answer in zip(exchange.questions, answers, strict=True):
        if question["method"] == RECEIPT:
            del answer["result"]
            answer["error"] = "internal"
    exchange.reply(answers)


def at(poison: str, fault: Fault) -> Fault:
    """Apply the fault to each request for this transaction's receipt; forward the others."""

    def reply(exchange: Exchange) -> None:
        if any(q["method"] == RECEIPT and q["params"] == [poison] for q in exchange.questions):
            fault(exchange)
        else:
            exchange.reply(exchange.truth())

    return reply


@pytest.mark.parametrize("fault", [fault_proxy.reset, odd_error], ids=["reset", "odd error"])
def test_transaction_that_breaks_the_connection_stops_no_other(
    nodes_of: Nodes, client_for: Clients, local_chain: LocalChain, fault: Fault
) -> None:
    [node] = nodes_of(1)
    hashes = [local_chain.transfer(local_chain.usdc, local_chain.recipient, 1) for _ in range(20)]
    poison = hashes[7]
    node.break_with(at(poison, fault))
    client = client_for([node])
    found = client.look_up(hashes, with_finality=False)
    assert found.contradicted == {poison}, "it is looked at again, and nothing is said of it"
    assert all(facts and facts.block for hash_, facts in found.transactions.items() if hash_ != poison)
    assert node.round_trips < 30
    assert client.health()[0].state == "answering"


RUNNING = "0x5f5000"  # accepts any call and keeps the money


def test_account_that_breaks_the_connection_stops_no_other(
    nodes_of: Nodes, client_for: Clients, local_chain: LocalChain
) -> None:
    wallets = [to_checksum_address(f"0x{number:040x}") for number in range(0xC0DE00, 0xC0DE06)]
    for wallet in wallets:
        local_chain.rpc("anvil_setCode", wallet, RUNNING)
    hashes = [mined(local_chain, local_chain.transfer("", wallet, 7)) for wallet in wallets]
    poison = wallets[2]

    def reply(exchange: Exchange) -> None:
        if any(poison in q["params"] for q in exchange.questions):
            fault_proxy.reset(exchange)
        else:
            call_by_call(untraced)(exchange)

    [node] = nodes_of(1)
    node.break_with(reply)
    client = client_for([node])
    for _ in range(2):
        # The first lookup stops at the failing calls. Later lookups begin with the others.
        found = client.look_up(sorted(hashes), with_finality=False)
    assert found.contradicted == {hashes[2]}
    others = [facts for hash_, facts in found.transactions.items() if hash_ != hashes[2]]
    assert all(
        facts and [(t.amount, t.claimable) for t in facts.transfers] == [(7, None)] for facts in others
    )


@pytest.mark.parametrize(
    ("message", "is_final"),
    [
        ("missing trie node 51ab (path )", True),
        ("state lookup timed out", False),
    ],
)
def test_missing_state_is_final_and_a_busy_node_is_retried(
    nodes_of: Nodes, client_for: Clients, local_chain: LocalChain, message: str, is_final: bool
) -> None:
    wallet = to_checksum_address(f"0x{0xC0DE10:040x}")
    local_chain.rpc("anvil_setCode", wallet, RUNNING)
    hash_ = mined(local_chain, local_chain.transfer("", wallet, 7))
    [node] = nodes_of(1)

    def fail(question: Json, truth: Json) -> Json | None:
        if question["method"] == "eth_getCode":
            return {"error": {"code": -32000, "message": message}}
        return untraced(question, truth)

    node.break_with(call_by_call(fail))
    found = client_for([node]).look_up([hash_], with_finality=False)
    assert (hash_ not in found.contradicted) is is_final


def test_solana_transactions_that_break_off_stop_no_other(solana: Chain, local_ledger: LocalLedger) -> None:
    """One check can't read so many transactions. It leaves the rest for the next."""
    sent = sorted(local_ledger.send(local_ledger.coin_move(new_address(), 10**7)) for _ in range(10))
    for signature in sent:
        local_ledger.finalize(signature)
    poison = sent[:4]

    def reply(exchange: Exchange) -> None:
        is_asked = any(
            q["method"] == "getTransaction" and q["params"][0] in poison for q in exchange.questions
        )
        (fault_proxy.reset if is_asked else fault_proxy.truth)(exchange)

    with proxying(local_ledger.url) as node:
        node.break_with(reply)
        solana.rpc_urls = [node.url]
        client = get_client(solana)
        seen: set[str] = set()
        for _ in range(3):
            try:
                found = client.look_up(sent, with_finality=False)
            except ChainError:
                continue  # only the failing one was left to read
            seen |= {name for name, facts in found.transactions.items() if facts and facts.block}
        assert seen == set(sent) - set(poison)
        assert client.health()[0].state == "answering"
