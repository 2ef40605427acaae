"""A finality tag that no longer moves, is null or fails is reported with its start time."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client

from chains.client import ChainError, Head, NodeAbilities, NodeHealth, NodeState, Snapshot
from chains.health import (
    STALE_AFTER,
    TAG_STILL_AFTER,
    Health,
    check_chains,
    evaluate,
    finality_still_since,
    longest_pause,
)
from chains.models import Chain, ChainStatus, Token
from chains.monitoring import doctor
from config.doctor.finding import Level

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@dataclass
class Node:
    """A node whose head advances with each check."""

    finalized: int | None = 90
    head: int | None = 100

    def look_up(self, hashes: list[str], *, with_finality: bool) -> Snapshot:
        if self.head is None:
            raise ChainError("no response")
        self.head += 1
        return Snapshot(Head(self.head, finalized=self.finalized if with_finality else None), {})

    def health(self) -> list[NodeHealth]:
        return [NodeHealth("node.example", NodeState.ANSWERING, self.head, "", NOON)]

    def abilities(self) -> NodeAbilities:
        return NodeAbilities(self.head or 0, None, None, True, 1000)


@pytest.fixture
def chain(usdc: Token) -> Chain:
    """A chain whose payments wait for the finalized block."""
    usdc.chain.confirmations = "finalized"
    usdc.chain.save()
    return usdc.chain


Check = Callable[..., ChainStatus]


@pytest.fixture
def check(chain: Chain) -> Check:
    """Return a function that checks these nodes a number of minutes after noon."""

    def run(nodes: list[Node], minutes: float = 0) -> ChainStatus:
        check_chains(clients=lambda _: nodes, now=lambda: NOON + timedelta(minutes=minutes))
        return ChainStatus.objects.get(chain=chain)

    return run


def test_moving_tag_has_no_lag(chain: Chain, check: Check) -> None:
    node = Node()
    for minutes in (0, 10, 20):
        node.finalized = 90 + minutes // 10
        status = check([node], minutes)
        assert (status.finality_block, status.finality_since) == (node.finalized, status.looked_at)
    assert evaluate(chain, status, status.looked_at) is Health.WORKING
    assert finality_still_since(chain, status.looked_at) is None


@pytest.mark.parametrize("later", [90, 89, None])
def test_stopped_tag_is_noticed_while_the_head_moves(chain: Chain, check: Check, later: int | None) -> None:
    node = Node()
    check([node])
    node.finalized = later
    for minutes in (2, 14, 16):
        status = check([node], minutes)
    assert (status.finality_block, status.finality_since, status.head_since) == (90, NOON, status.looked_at)
    assert evaluate(chain, status, status.looked_at) is Health.NOT_FINALIZING
    node.finalized = 91
    status = check([node], 17)
    assert evaluate(chain, status, status.looked_at) is Health.WORKING


def test_unknown_tag_is_late_since_the_first_check(chain: Chain, check: Check) -> None:
    node = Node(finalized=None)
    check([node])
    status = check([node], 16)
    assert (status.finality_block, status.finality_since) == (None, NOON)
    assert evaluate(chain, status, status.looked_at) is Health.NOT_FINALIZING


def test_still_tag_is_reported_after_longest_pause_of_head(chain: Chain, check: Check) -> None:
    pause = longest_pause(chain).total_seconds() / 60
    node = Node()
    check([node])
    assert finality_still_since(chain, check([node], pause).looked_at) is None
    status = check([node], pause + 0.1)
    assert finality_still_since(chain, status.looked_at) == NOON
    assert finality_still_since(chain, status.looked_at + STALE_AFTER + timedelta(seconds=1)) is None


def test_one_node_of_three_neither_stops_nor_moves_the_tag(check: Check) -> None:
    nodes = [Node(), Node(), Node()]
    check(nodes)
    nodes[0].finalized, nodes[1].finalized, nodes[2].finalized = 99, 90, None
    assert check(nodes, 1).finality_since == NOON
    nodes[1].finalized = 95
    assert check(nodes, 2).finality_block == 95


def test_tag_beyond_the_head_is_ignored(check: Check) -> None:
    node = Node()
    check([node])
    node.finalized = 10**9
    assert check([node], 1).finality_block == 90


def test_second_of_two_nodes_does_not_hide_the_first_ones_tag(check: Check) -> None:
    """Verification queries the second node only if the first one doesn't respond."""
    nodes = [Node(), Node()]
    check(nodes)
    nodes[1].finalized = 95
    assert check(nodes, 1).finality_block == 90
    nodes[0].head = None
    assert check(nodes, 2).finality_block == 95


def test_silent_nodes_keep_the_last_known_tag(check: Check) -> None:
    check([Node()])
    status = check([Node(head=None)], 20)
    assert (status.finality_block, status.finality_since) == (90, NOON)


def test_chain_that_counts_confirmations_has_no_tag(chain: Chain, check: Check) -> None:
    Chain.objects.update(confirmations="12")
    status = check([Node()])
    assert (status.finality_block, status.finality_since) == (None, None)
    assert status.nodes[0]["final"] is None


def test_readiness_and_metrics_show_the_lag_of_the_tag(chain: Chain, check: Check) -> None:
    check([Node()])
    check([Node()], 16)
    client = Client()
    details = client.get("/readyz").json()["chains"][str(chain.pk)]
    assert (details["finality_tag"], details["finality_block"]) == ("finalized", 90)
    assert details["finality_lag_seconds"] == 960.0
    labels = f'chain="{chain.pk}",tag="finalized"'
    assert (
        f"quittance_chain_finality_lag_seconds{{{labels}}} 960.0" in client.get("/metrics").content.decode()
    )


def test_metrics_have_no_tag_of_a_chain_that_counts(chain: Chain, check: Check) -> None:
    Chain.objects.update(confirmations="12")
    check([Node()])
    assert "finality_lag_seconds{" not in Client().get("/metrics").content.decode()


def test_doctor_says_since_when_the_tag_has_stopped(
    chain: Chain, check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = Node()
    check([node])
    status = check([node], TAG_STILL_AFTER.total_seconds() / 60 + 1)
    monkeypatch.setattr(doctor.timezone, "now", lambda: status.looked_at)
    findings = list(doctor.check(lambda _: [node]))
    assert [finding.level for finding in findings] == [Level.OK, Level.FAILED]
    assert "its finalized block is 90" in findings[1].summary
    assert "since 2026-03-01 12:00 UTC: payments wait" in findings[1].summary
    assert "confirmations_fallback" in findings[1].advice


def test_doctor_names_a_node_without_the_tag(chain: Chain) -> None:
    (finding,) = doctor.check(lambda _: [Node(finalized=None)])
    assert finding.level is Level.FAILED
    assert "returns no finalized block" in finding.summary
