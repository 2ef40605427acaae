"""Doctor sends each node the largest queries that verification needs, and reports what the node can't do."""

from collections.abc import Iterator

import pytest

from chains.models import Chain
from chains.monitoring import doctor
from config.doctor.finding import Level
from tests.chain import LocalChain
from tests.fault_proxy import Exchange, FaultProxy, proxying
from tests.support.nodes.kinds import without_traces
from tests.support.nodes.limits import free_plan
from tests.support.operations.findings import found, levels


@pytest.fixture
def node(chain: Chain, local_chain: LocalChain) -> Iterator[FaultProxy]:
    """A proxy, which is the only node of the chain in the catalogue."""
    with proxying(local_chain.url) as node:
        chain.rpc_urls = [node.url]
        chain.save()
        yield node


NAME = "Local Chain, 127.0.0.1"


def test_node_without_limits_has_no_warning(chain: Chain, reorganised_chain: LocalChain) -> None:
    """On a chain of its own: anvil keeps the state of 1,024 blocks, and other tests mine more."""
    chain.rpc_urls = [reorganised_chain.url]
    chain.save()
    (summary,) = found(doctor.check(), Level.OK)
    assert summary.startswith(f"{NAME}: block ")
    assert summary.endswith("history from the first block, traces")


def test_doctor_finds_the_limits_of_a_free_plan(node: FaultProxy, local_chain: LocalChain) -> None:
    local_chain.mine(20)
    node.break_with(free_plan(1, 10))
    (summary,) = found(doctor.check(), Level.OK)
    assert "at most 1 calls in a batch" in summary
    assert "logs of at most" in summary
    assert "no traces" in summary


def test_node_without_traces_and_old_state_is_named(node: FaultProxy, local_chain: LocalChain) -> None:
    local_chain.mine(200)

    def pruned(exchange: Exchange) -> None:
        if any(method.startswith("debug_") for method in exchange.methods):
            return without_traces(exchange)
        missing = {"code": -32000, "message": "missing trie node"}
        exchange.reply(
            [
                {"jsonrpc": "2.0", "id": asked["id"], "error": missing}
                if asked["method"] == "eth_getBalance"
                else answer
                for asked, answer in zip(exchange.questions, exchange.truth(), strict=True)
            ]
        )

    node.break_with(pruned)
    (summary,) = found(doctor.check(), Level.WARNING)
    assert "neither traces nor keeps more than 0 blocks of state" in summary


def test_doctor_names_a_node_of_another_chain(
    chain: Chain, local_chain: LocalChain, other_local_chain: LocalChain
) -> None:
    chain.rpc_urls = [other_local_chain.url]
    chain.save()
    (finding,) = doctor.check()
    assert finding.level is Level.FAILED
    assert "serves a different chain" in finding.summary
    assert "correct its URL" in finding.advice


def test_dead_node_and_chain_without_nodes_are_named(
    node: FaultProxy, chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain.rpc_urls = ["http://127.0.0.1:1", node.url]
    chain.save()
    assert [each.level for each in doctor.check()] == [Level.FAILED, Level.OK]
    monkeypatch.delenv("NO_SUCH_RPC_URL", raising=False)
    chain.rpc_urls = ["env:NO_SUCH_RPC_URL"]
    chain.save()
    (finding,) = doctor.check()
    assert finding.level is Level.FAILED
    assert finding.advice.startswith("Set NO_SUCH_RPC_URL ")


def test_doctor_names_a_node_that_lags(node: FaultProxy, chain: Chain, local_chain: LocalChain) -> None:
    local_chain.mine(60)
    chain.rpc_urls = [local_chain.url, node.url]
    chain.save()

    def lagging(exchange: Exchange) -> None:
        exchange.reply(
            [
                {**answer, "result": hex(int(answer["result"], 16) - 50)}
                if asked["method"] == "eth_blockNumber"
                else answer
                for asked, answer in zip(exchange.questions, exchange.truth(), strict=True)
            ]
        )

    node.break_with(lagging)
    (summary,) = found(doctor.check(), Level.FAILED)
    assert "50 blocks behind" in summary


def test_doctor_names_a_catalogue_without_chains(db: None) -> None:
    (finding,) = doctor.check()
    assert (finding.subject, finding.level) == ("catalogue", Level.FAILED)


def test_doctor_checks_the_nodes_of_solana(solana: Chain) -> None:
    assert set(levels(doctor.check()).values()) == {"ok"}
