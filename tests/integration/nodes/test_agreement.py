"""What several nodes say is put together so that no single one decides, and none that lags denies a transaction."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from chains.client import Block, ChainError, Mention, TransactionFacts, Transfer
from chains.families import node_urls
from chains.families.evm.client import EvmClient
from chains.models import Chain
from chains.rpc.quorum import _both, _not_mined
from tests import fault_proxy
from tests.chain import LocalChain
from tests.fault_proxy import FaultProxy
from tests.support.nodes.fixtures import NodeTime
from tests.support.nodes.networks import changed

Nodes = Callable[[int], list[FaultProxy]]
Clients = Callable[[list[FaultProxy]], EvmClient]
UNKNOWN = "0x" + "ab" * 32


@pytest.fixture
def mined(local_chain: LocalChain) -> str:
    return local_chain.transfer(local_chain.usdc, local_chain.recipient, 5_000_000, tail=b"r" * 16)


def facts_of(client: EvmClient, transaction_hash: str) -> TransactionFacts | None:
    return client.look_up([transaction_hash], with_finality=False).transactions[transaction_hash]


def asked_for_transactions(node: FaultProxy) -> list[str]:
    """Return the hashes that the node was asked for."""
    questions = [q for body in node.bodies for q in (body if isinstance(body, list) else [body])]
    return [q["params"][0] for q in questions if q["method"] == "eth_getTransactionByHash"]


@pytest.mark.parametrize("count", [2, 3, 4])
def test_not_found_is_believed_only_after_every_node_was_asked(
    nodes_of: Nodes, client_for: Clients, mined: str, count: int
) -> None:
    nodes = nodes_of(count)
    for node in nodes[:-1]:
        node.break_with(fault_proxy.forgetful)
    client = client_for(nodes)
    snapshot = client.look_up([mined, UNKNOWN], with_finality=False)
    assert snapshot.transactions[UNKNOWN] is None
    facts = snapshot.transactions[mined]
    assert facts is not None, "one node knows it"
    assert (facts.block is not None) is (count == 2), "with three or more, one node's word is no block"
    assert not snapshot.contradicted
    assert all(UNKNOWN in asked_for_transactions(node) for node in nodes)


def test_with_two_nodes_the_second_is_asked_only_for_what_the_first_does_not_know(
    nodes_of: Nodes, client_for: Clients, mined: str
) -> None:
    nodes = nodes_of(2)
    client_for(nodes).look_up([mined, UNKNOWN], with_finality=False)
    assert asked_for_transactions(nodes[0]) == [mined, UNKNOWN]
    assert asked_for_transactions(nodes[1]) == [UNKNOWN]


def test_with_three_the_third_is_asked_only_where_the_first_two_differ(
    nodes_of: Nodes, client_for: Clients, mined: str, local_chain: LocalChain
) -> None:
    other = local_chain.transfer(local_chain.usdc, local_chain.recipient, 1)
    nodes = nodes_of(3)
    client = client_for(nodes)
    client.look_up([mined, other], with_finality=False)
    assert asked_for_transactions(nodes[2]) == []
    nodes[1].break_with(
        fault_proxy.forged_receipts(
            lambda receipt: {**receipt, "logs": []} if receipt["transactionHash"] == other else receipt
        )
    )
    snapshot = client.look_up([mined, other], with_finality=False)
    assert asked_for_transactions(nodes[2]) == [other]
    facts = snapshot.transactions[other]
    assert facts is not None
    assert [transfer.amount for transfer in facts.transfers] == [1]
    assert [node.state.value for node in client.health()] == ["answering", "contradicted", "answering"]


def test_a_contradiction_concerns_its_own_transaction_alone(
    nodes_of: Nodes, client_for: Clients, mined: str, local_chain: LocalChain
) -> None:
    disputed = local_chain.transfer(local_chain.usdc, local_chain.recipient, 1)
    nodes = nodes_of(3)
    for number, node in enumerate(nodes[:2]):
        lie = changed(logs=[], status=hex(number))
        node.break_with(
            fault_proxy.forged_receipts(
                lambda receipt, lie=lie: lie(receipt) if receipt["transactionHash"] == disputed else receipt
            )
        )
    snapshot = client_for(nodes).look_up([mined, disputed], with_finality=False)
    assert snapshot.contradicted == {disputed}
    facts, trusted = snapshot.transactions[disputed], snapshot.transactions[mined]
    assert facts is not None
    assert (facts.block, facts.succeeded, facts.transfers) == (None, False, ())
    assert trusted is not None
    assert trusted.succeeded


def test_with_three_configured_one_that_answers_is_not_enough(
    nodes_of: Nodes, client_for: Clients, time: NodeTime, mined: str
) -> None:
    nodes = nodes_of(3)
    client = client_for(nodes)
    for node in nodes[1:]:
        node.break_with(fault_proxy.server_error)
    for _ in range(2):  # asked, and then resting
        with pytest.raises(ChainError, match="two must agree") as failed:
            facts_of(client, mined)
        assert not failed.value.permanent
    nodes[1].heal()
    time.now += 5
    facts = facts_of(client, mined)
    assert facts is not None
    assert facts.succeeded


def test_a_node_that_stands_in_the_catalogue_twice_is_one_node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAME_RPC_URL", "https://node.example/a")
    urls = ["env:SAME_RPC_URL", "https://node.example/b", "https://node.example/a", "env:NOT_SET_RPC_URL"]
    assert node_urls(Chain(id=1, rpc_urls=urls)) == ("https://node.example/a", "https://node.example/b")


def test_with_two_configured_one_that_answers_is_enough(
    nodes_of: Nodes, client_for: Clients, mined: str
) -> None:
    nodes = nodes_of(2)
    nodes[0].break_with(fault_proxy.reset)
    facts = facts_of(client_for(nodes), mined)
    assert facts is not None
    assert facts.succeeded


def test_a_nonce_that_one_node_alone_tells_of_is_not_told(
    nodes_of: Nodes, client_for: Clients, local_chain: LocalChain
) -> None:
    local_chain.rpc("evm_setAutomine", False)
    try:
        waiting = local_chain.transfer(local_chain.usdc, local_chain.recipient, 1)
        nodes = nodes_of(3)
        honest = facts_of(client_for(nodes), waiting)
        nodes[0].break_with(fault_proxy.forged("eth_getTransactionByHash", changed(nonce="0x0")))
        doubtful = facts_of(client_for(nodes), waiting)
    finally:
        local_chain.rpc("evm_setAutomine", True)
        local_chain.mine()
    assert honest is not None
    assert doubtful is not None
    assert honest.nonce is not None
    assert (honest.block, doubtful.block, doubtful.nonce) == (None, None, None)


def test_a_senders_count_is_the_lower_of_two(
    nodes_of: Nodes, client_for: Clients, local_chain: LocalChain
) -> None:
    nodes = nodes_of(3)
    true_count = int(local_chain.rpc("eth_getTransactionCount", local_chain.payer, "latest"), 16)
    nodes[0].break_with(fault_proxy.forged("eth_getTransactionCount", lambda _: hex(10**6)))
    assert client_for(nodes).transaction_counts([local_chain.payer]) == {local_chain.payer: true_count}


A, B = b"a" * 16, b"b" * 16
TOKEN = Transfer("3", "0xT", "0xS", "0xR", 5, (A,), made_by="0xS")
INNER = Transfer("0.1", "", "0xS", "0xR", 7)
MINED = TransactionFacts(
    "0x1", "0xS", 1, Block(9, "0xB", datetime(2026, 1, 1, tzinfo=UTC)), True, (TOKEN, INNER), effect="0xE"
)
UNTRACED = replace(MINED, transfers=(TOKEN,), is_complete=False)
Facts = TransactionFacts


def claimed(facts: Facts | None) -> list[tuple[tuple[bytes, ...], str, int | None]]:
    assert facts is not None
    return [(t.references, t.made_by, t.claimable) for t in facts.transfers]


def test_of_a_node_that_traces_and_one_that_can_not_only_what_both_saw_counts() -> None:
    assert _both(MINED, MINED) == MINED
    assert _both(MINED, UNTRACED) == _both(UNTRACED, MINED) == UNTRACED
    bound_otherwise = replace(UNTRACED, transfers=(replace(TOKEN, references=(A, B)),))
    assert _both(MINED, bound_otherwise) == UNTRACED
    unbound = replace(TOKEN, references=(B,))
    both = _both(MINED, replace(UNTRACED, transfers=(unbound,)))
    assert both is not None
    assert both.transfers == (replace(TOKEN, references=()),)


def test_nodes_that_name_another_network_fee_agree_on_the_rest() -> None:
    one, other = replace(MINED, network_fee=21_000), replace(MINED, network_fee=42_000)
    both = _both(one, other)
    assert both == MINED
    assert both is not None
    assert both.network_fee is None
    agreed = _both(one, one)
    assert agreed is not None
    assert agreed.network_fee == 21_000


@pytest.mark.parametrize("is_complete", [True, False], ids=["both complete", "neither complete"])
def test_what_one_node_proves_and_the_other_does_not_is_agreed_on_as_not_proved(is_complete: bool) -> None:
    """Such as the code of an account, which only one still has the state for: that denies nothing."""
    full = replace(MINED, transfers=(TOKEN,), is_complete=is_complete)
    for poorer, expected in (
        (replace(TOKEN, references=()), ((), "0xS", None)),
        (replace(TOKEN, made_by=""), ((A,), "", None)),
        (replace(TOKEN, claimable=2), ((A,), "0xS", 2)),
        (replace(TOKEN, claimable=0), ((A,), "0xS", 0)),
    ):
        other = replace(full, transfers=(poorer,))
        for both in (_both(full, other), _both(other, full)):
            assert claimed(both) == [expected]
            assert both is not None
            assert not both.is_complete


def test_transfers_lie_within_the_calls_that_both_nodes_saw_around_them() -> None:
    router, other, log = Mention("0xM", b"id"), Mention("0xO", b"id"), Mention("0xM", b"log", is_log=True)
    traced = replace(
        MINED,
        mentions=(other, router, log),
        transfers=(replace(TOKEN, within=(0, 1)), replace(INNER, within=(1,))),
    )
    untraced = replace(UNTRACED, mentions=(router, log), transfers=(replace(TOKEN, within=(0,)),))
    for both in (_both(traced, untraced), _both(untraced, traced)):
        assert both is not None
        assert both.mentions == (router, log)
        assert [t.within for t in both.transfers] == [(0,)]
    assert _both(traced, replace(untraced, mentions=(router,))) is None, "logs are in every receipt"
    unseen = _both(traced, replace(untraced, transfers=(TOKEN,)))
    assert unseen is not None
    assert [t.within for t in unseen.transfers] == [()]


def test_a_node_that_can_not_read_a_transaction_contradicts_no_other() -> None:
    unreadable = replace(MINED, transfers=(), is_complete=False, is_readable=False)
    assert _both(MINED, unreadable) == _both(unreadable, MINED) == unreadable
    assert _both(MINED, replace(unreadable, succeeded=False)) is None


def test_of_a_transaction_that_is_not_mined_one_node_says_what_it_would_move_and_two_what_it_replaces() -> (
    None
):
    waiting = replace(MINED, block=None, succeeded=False, transfers=(), intended=(TOKEN,))
    elsewhere = replace(waiting, nonce=2, effect="0xF", intended=())
    alone = _not_mined([None, waiting])
    assert alone is not None
    assert (alone.intended, alone.nonce, alone.effect) == ((TOKEN,), None, "")
    two = _not_mined([waiting, waiting])
    assert two is not None
    assert (two.intended, two.nonce, two.effect) == ((TOKEN,), 1, "0xE")
    both = _not_mined([waiting, elsewhere])
    assert both is not None
    assert (both.nonce, both.effect) == (None, "")
    seen_in_a_block = _not_mined([MINED, waiting])
    assert seen_in_a_block is not None
    assert (seen_in_a_block.block, seen_in_a_block.transfers) == (None, ())
    assert (seen_in_a_block.intended, seen_in_a_block.effect) == ((TOKEN,), "0xE")


@pytest.mark.parametrize(
    "different",
    [
        {"succeeded": False, "transfers": ()},
        {"transfers": (TOKEN,)},
        {"transfers": ()},
        {"transfers": (replace(TOKEN, amount=6), INNER)},
        {"transfers": (replace(TOKEN, references=(B,)), INNER)},
        {"transfers": (replace(TOKEN, made_by="0xX"), INNER)},
        {"effect": "0xF"},
        {"block": replace(MINED.block or Block(0, "", datetime.now(UTC)), hash="0xC")},
        {"sender": "0xX"},
        {"nonce": 2},
    ],
    ids=str,
)
def test_facts_that_differ_anywhere_are_not_agreed_on(different: dict[str, object]) -> None:
    assert _both(MINED, replace(MINED, **different)) is None  # type: ignore[arg-type]


def test_an_untraced_transfer_that_the_trace_denies_is_not_agreed_on() -> None:
    invented = replace(TOKEN, slot="4")
    assert _both(MINED, replace(UNTRACED, transfers=(TOKEN, invented))) is None


def test_of_two_commitments_the_weaker_counts() -> None:
    confirmed, finalized = replace(MINED, commitment="confirmed"), replace(MINED, commitment="finalized")
    assert _both(confirmed, finalized) == confirmed
    assert _both(finalized, finalized) == finalized


@pytest.mark.parametrize(("saying_yes", "is_signed"), [(0, False), (1, False), (2, True), (3, True)])
def test_a_contracts_signature_needs_the_word_of_two_nodes(
    nodes_of: Nodes, client_for: Clients, local_chain: LocalChain, saying_yes: int, is_signed: bool
) -> None:
    def says(word: str) -> fault_proxy.Fault:
        def answer(exchange: fault_proxy.Exchange) -> None:
            called = {q["id"] for q in exchange.questions if q["method"] == "eth_call"}
            told = [a for a in exchange.truth() if a["id"] not in called]
            exchange.reply(told + [{"jsonrpc": "2.0", "id": id_, "result": word} for id_ in called])

        return answer

    nodes = nodes_of(3)
    for place, node in enumerate(nodes):
        node.break_with(says("0x1626ba7e" + "00" * 28 if place < saying_yes else "0x"))
    assert client_for(nodes).is_signed_by(local_chain.usdc, "I will pay.", "0x12") is is_signed
