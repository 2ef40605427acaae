"""Check the health of each chain's nodes in a periodic task, and store it in a row.

Pages and metrics evaluate that row and query no node.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from django.utils import timezone

from chains.client import ChainClient, ChainError, Head, NodeState
from chains.families import clients_of_each_node, head_allowance
from chains.models import Chain, ChainStatus

# A slower node counts as down. The limit is well below a worker's soft time limit of 45 s.
CHECK_TIMEOUT_SECONDS = 20.0
# An older row is ignored.
STALE_AFTER = timedelta(minutes=5)
# A chain is stalled after this long without a new block, or after STILL_BLOCKS block times if that is longer.
STILL_AFTER = timedelta(minutes=2)
STILL_BLOCKS = 30
# A finality tag counts as stopped after this time. Ethereum's tag moves every 6.4 minutes, and a missed epoch doubles
# this.
TAG_STILL_AFTER = timedelta(minutes=15)
_THREADS = 8
_NEEDED_TO_AGREE = 2
_NODES_FOR_QUORUM = 3


class Health(StrEnum):
    """Whether payments on a chain can be verified."""

    WORKING = "working"
    IMPAIRED = "impaired"
    STALLED = "standing still"
    NOT_FINALIZING = "not finalizing"
    DOWN = "down"
    UNKNOWN = "unknown"


NEEDS_ATTENTION = (Health.STALLED, Health.NOT_FINALIZING, Health.DOWN)


@dataclass(frozen=True)
class NodeCheck:
    """The result of checking one node.

    `host` is only the URL's host, because the full URL may contain a key. `behind` is the node's lag in blocks. `final`
    is the height of the chain's finality tag.
    """

    host: str
    state: str
    head: int | None
    behind: int | None
    error: str
    final: int | None = None


Clients = Callable[[Chain], Sequence[ChainClient]]


def check_chains(
    *, clients: Clients = clients_of_each_node, now: Callable[[], datetime] = timezone.now
) -> int:
    """Query the heads of all nodes of all active chains in parallel, and store them.

    Return the number of chains. Several processes may run this at once: the last write wins.
    """
    chains = list(Chain.objects.filter(is_active=True))
    by_chain = {chain.pk: clients_or_empty(chain, clients) for chain in chains}
    pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="chain-health")
    try:
        heads = {
            (chain.pk, place): pool.submit(_head, client, chain.finality_tag is not None)
            for chain in chains
            for place, client in enumerate(by_chain[chain.pk])
        }
        wait(heads.values(), timeout=CHECK_TIMEOUT_SECONDS)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
    for chain in chains:
        futures = [heads[chain.pk, place] for place in range(len(by_chain[chain.pk]))]
        results = [
            future.result() if future.done() and not future.cancelled() else None for future in futures
        ]
        write_status(chain, _node_checks(chain, by_chain[chain.pk], results), now())
    return len(chains)


def write_status(chain: Chain, nodes: Sequence[NodeCheck], now: datetime) -> None:
    """Store the node checks. `head_since` and `finality_since` change only if their block changes."""
    head = _reached([node.head for node in nodes])
    before = ChainStatus.objects.filter(chain=chain).first()
    unmoved = before is not None and (head is None or before.head == head)
    values: dict[str, Any] = {
        "looked_at": now,
        "nodes": [asdict(node) for node in nodes],
        "head": before.head if before is not None and unmoved else head,
        "head_since": before.head_since
        if before is not None and unmoved
        else (now if head is not None else None),
        **_finality_columns(chain, nodes, before, now),
    }
    ChainStatus.objects.update_or_create(chain=chain, defaults=values)


def _finality_columns(
    chain: Chain, nodes: Sequence[NodeCheck], before: ChainStatus | None, now: datetime
) -> dict[str, Any]:
    """Return the height of the chain's finality tag, and the time at which it last grew.

    If there is no tagged block, the time is that of the first check. A height beyond the head is ignored.
    """
    if chain.finality_tag is None:
        return {"finality_block": None, "finality_since": None}
    responding = [node for node in nodes if node.head is not None]
    block, since = (before.finality_block, before.finality_since) if before is not None else (None, None)
    if not responding:
        return {"finality_block": block, "finality_since": since}
    head = max(node.head or 0 for node in responding)
    # Verification needs a quorum if there are enough nodes; otherwise it uses the first node that responds.
    final = _reached([node.final for node in nodes]) if needs_quorum(len(nodes)) else responding[0].final
    if final is not None and final <= head and (block is None or block > head or final > block):
        return {"finality_block": final, "finality_since": now}
    return {"finality_block": block, "finality_since": since or now}


def evaluate(chain: Chain, status: ChainStatus | None, now: datetime) -> Health:
    """Return the chain's health from its stored status and the quorum rules. Queries no node."""
    if status is None or now - status.looked_at > STALE_AFTER:
        return Health.UNKNOWN
    answering = sum(node["state"] == NodeState.ANSWERING for node in status.nodes)
    if answering < nodes_needed(len(status.nodes)):
        return Health.DOWN
    if status.head_since is not None and status.looked_at - status.head_since > longest_pause(chain):
        return Health.STALLED
    if (finality_lag_seconds(status) or 0) > TAG_STILL_AFTER.total_seconds():
        return Health.NOT_FINALIZING
    return Health.WORKING if answering == len(status.nodes) else Health.IMPAIRED


def summary(now: Callable[[], datetime] = timezone.now) -> dict[str, dict[str, Any]]:
    """Return the health of each active chain by id, for `/readyz`."""
    return {str(chain.pk): _summary_of(chain, status, now()) for chain, status in chains_with_status()}


def chains_with_status() -> list[tuple[Chain, ChainStatus | None]]:
    statuses = {status.chain_id: status for status in ChainStatus.objects.all()}
    return [(chain, statuses.get(chain.pk)) for chain in Chain.objects.filter(is_active=True)]


def lag_seconds(status: ChainStatus) -> float | None:
    """Return the seconds between the first check that saw the latest block and the last check; None without a block."""
    return (status.looked_at - status.head_since).total_seconds() if status.head_since else None


def finality_lag_seconds(status: ChainStatus) -> float | None:
    """Return the seconds from the last move of the finality tag to the last check; None if the chain counts
    confirmations.
    """
    return (status.looked_at - status.finality_since).total_seconds() if status.finality_since else None


def finality_still_since(chain: Chain, now: datetime) -> datetime | None:
    """If the chain's finality tag has stopped, return the time at which it last moved.

    A tag has stopped if it hasn't moved for longer than `longest_pause`.

    None if it has not stopped, if there is no recent check, or if the chain counts confirmations.
    """
    status = ChainStatus.objects.filter(chain=chain).first() if chain.finality_tag is not None else None
    if status is None or now - status.looked_at > STALE_AFTER:
        return None
    is_still = (finality_lag_seconds(status) or 0) > longest_pause(chain).total_seconds()
    return status.finality_since if is_still else None


def _summary_of(chain: Chain, status: ChainStatus | None, now: datetime) -> dict[str, Any]:
    fields: dict[str, Any] = {"name": chain.name, "state": evaluate(chain, status, now).value}
    if status is not None:
        fields |= {
            "head": status.head,
            "lag_seconds": lag_seconds(status),
            "finality_tag": chain.finality_tag,
            "finality_block": status.finality_block,
            "finality_lag_seconds": finality_lag_seconds(status),
            "looked_at_seconds_ago": (now - status.looked_at).total_seconds(),
            "nodes": [
                {"host": node["host"], "state": node["state"], "behind": node["behind"]}
                for node in status.nodes
            ],
        }
    return fields


def longest_pause(chain: Chain) -> timedelta:
    """Return the time without a new block after which a chain counts as stalled."""
    return max(STILL_AFTER, timedelta(milliseconds=STILL_BLOCKS * chain.block_time_ms))


def clients_or_empty(chain: Chain, clients: Clients) -> Sequence[ChainClient]:
    """Return the chain's clients, or an empty sequence if none can be created."""
    try:
        return clients(chain)
    except ChainError:
        return ()


def _head(client: ChainClient, with_finality: bool) -> Head | None:
    """Return the node's newest block and its tags, or None without a usable response."""
    try:
        return client.look_up([], with_finality=with_finality).head
    except ChainError:
        return None


def _reached(heads: Sequence[int | None]) -> int | None:
    """Return the highest head that a quorum of nodes has reached. One node alone may be ahead."""
    known_heads = sorted((head for head in heads if head is not None), reverse=True)
    place = nodes_needed(len(heads)) - 1
    return known_heads[place] if place < len(known_heads) else None


def nodes_needed(nodes: int) -> int:
    """Return how many of a chain's nodes must respond to verify payments."""
    return _NEEDED_TO_AGREE if needs_quorum(nodes) else 1


def needs_quorum(nodes: int) -> bool:
    return nodes >= _NODES_FOR_QUORUM


def _node_checks(
    chain: Chain, clients: Sequence[ChainClient], heads: Sequence[Head | None]
) -> list[NodeCheck]:
    reached = _reached([head.latest if head else None for head in heads]) or 0
    checks = []
    for client, known in zip(clients, heads, strict=True):
        head = known.latest if known else None
        (node,) = client.health()
        behind = None if head is None else max(reached - head, 0)
        state = NodeState.ANSWERING if head is not None else node.state
        if head is None and state in (NodeState.ANSWERING, NodeState.UNTRIED):
            state = NodeState.FAILING  # no response in time
        if behind is not None and behind > head_allowance(chain):
            state = NodeState.LAGGING
        checks.append(
            NodeCheck(
                node.host,
                state.value,
                head,
                behind,
                "" if head is not None else node.last_error,
                known.tagged(chain.finality_tag) if known and chain.finality_tag else None,
            )
        )
    return checks
