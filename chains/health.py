"""How each chain's nodes do: asked by a task once in a while, kept in a row, judged where it is shown.

A page that shows it asks no node: it reads the row and its time.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from django.utils import timezone

from chains.client import ChainClient, ChainError, NodeState
from chains.families import clients_of_each_node, head_allowance
from chains.models import Chain, ChainStatus

# A worker's soft time limit is 45 s; a node that takes longer than this is as good as none.
PATIENCE_SECONDS = 20.0
# Older than this, a row says nothing any more: no worker has looked.
STALE_AFTER = timedelta(minutes=5)
# No new block for so long, or for so many blocks' time where blocks are slow, and the chain stands still.
STILL_AFTER = timedelta(minutes=2)
STILL_BLOCKS = 30
_THREADS = 8
_NEEDED_TO_AGREE = 2
_FEWEST_THAT_HAVE_TO_AGREE = 3


class Health(StrEnum):
    """What a chain's row means for payments on it."""

    WORKING = "working"
    IMPAIRED = "impaired"
    STANDING_STILL = "standing still"
    DOWN = "down"
    UNKNOWN = "unknown"


NEEDS_A_PERSON = (Health.STANDING_STILL, Health.DOWN)


@dataclass(frozen=True)
class NodeLook:
    """What one node answered: its host alone, its head, and how many blocks that is behind the best of the others."""

    host: str
    state: str
    head: int | None
    behind: int | None
    error: str


Clients = Callable[[Chain], Sequence[ChainClient]]


def look_at_chains(
    *, clients: Clients = clients_of_each_node, now: Callable[[], datetime] = timezone.now
) -> int:
    """Ask every node of every active chain for its head, all at once, and write what came; return how many chains.

    Safe to run twice at once: each writes what it saw, and the later one stays.
    """
    chains = list(Chain.objects.filter(is_active=True))
    asked = {chain.pk: _clients(chain, clients) for chain in chains}
    pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="chain-health")
    try:
        heads = {
            (chain_id, place): pool.submit(_head, client)
            for chain_id, each in asked.items()
            for place, client in enumerate(each)
        }
        wait(heads.values(), timeout=PATIENCE_SECONDS)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
    for chain in chains:
        answers = [heads[chain.pk, place] for place in range(len(asked[chain.pk]))]
        told = [answer.result() if answer.done() and not answer.cancelled() else None for answer in answers]
        write_status(chain, _looks(chain, asked[chain.pk], told), now())
    return len(chains)


def write_status(chain: Chain, nodes: Sequence[NodeLook], now: datetime) -> None:
    """Keep what the nodes told; `head_since` moves only when the chain does."""
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
    }
    ChainStatus.objects.update_or_create(chain=chain, defaults=values)


def evaluate(chain: Chain, status: ChainStatus | None, now: datetime) -> Health:
    """Return what the row means, by the rules of how many nodes have to agree; asks nobody."""
    if status is None or now - status.looked_at > STALE_AFTER:
        return Health.UNKNOWN
    answering = sum(node["state"] == NodeState.ANSWERING for node in status.nodes)
    if answering < _needed(len(status.nodes)):
        return Health.DOWN
    if status.head_since is not None and status.looked_at - status.head_since > longest_pause(chain):
        return Health.STANDING_STILL
    return Health.WORKING if answering == len(status.nodes) else Health.IMPAIRED


def summary(now: Callable[[], datetime] = timezone.now) -> dict[str, dict[str, Any]]:
    """Return, by the id of each active chain, how it does by the last look: for `/readyz`.

    `lag_seconds` is how long its newest block was the newest when last looked at.
    """
    return {str(chain.pk): _summary_of(chain, status, now()) for chain, status in chains_with_status()}


def chains_with_status() -> list[tuple[Chain, ChainStatus | None]]:
    """Return each active chain with what was last seen of it."""
    statuses = {status.chain_id: status for status in ChainStatus.objects.all()}
    return [(chain, statuses.get(chain.pk)) for chain in Chain.objects.filter(is_active=True)]


def lag_seconds(status: ChainStatus) -> float | None:
    """Return how long the newest block had been the newest at the last look; None if none was ever seen."""
    return (status.looked_at - status.head_since).total_seconds() if status.head_since else None


def _summary_of(chain: Chain, status: ChainStatus | None, now: datetime) -> dict[str, Any]:
    answer: dict[str, Any] = {"name": chain.name, "state": evaluate(chain, status, now).value}
    if status is not None:
        answer |= {
            "head": status.head,
            "lag_seconds": lag_seconds(status),
            "looked_at_seconds_ago": (now - status.looked_at).total_seconds(),
            "nodes": [
                {"host": node["host"], "state": node["state"], "behind": node["behind"]}
                for node in status.nodes
            ],
        }
    return answer


def longest_pause(chain: Chain) -> timedelta:
    """Return how long a chain may go without a new block before that means something."""
    return max(STILL_AFTER, timedelta(milliseconds=STILL_BLOCKS * chain.block_time_ms))


def _clients(chain: Chain, clients: Clients) -> Sequence[ChainClient]:
    try:
        return clients(chain)
    except ChainError:
        return ()


def _head(client: ChainClient) -> int | None:
    """Return the node's newest block, or None when it gives no usable answer."""
    try:
        return client.look_up([], with_finality=False).head.latest
    except ChainError:
        return None


def _reached(heads: Sequence[int | None]) -> int | None:
    """Return the head that as many nodes have reached as have to agree: one that runs ahead alone is not believed."""
    told = sorted((head for head in heads if head is not None), reverse=True)
    place = _needed(len(heads)) - 1
    return told[place] if place < len(told) else None


def _needed(nodes: int) -> int:
    return _NEEDED_TO_AGREE if nodes >= _FEWEST_THAT_HAVE_TO_AGREE else 1


def _looks(chain: Chain, clients: Sequence[ChainClient], heads: Sequence[int | None]) -> list[NodeLook]:
    reached = _reached(heads) or 0
    looks = []
    for client, head in zip(clients, heads, strict=True):
        (node,) = client.health()
        behind = None if head is None else max(reached - head, 0)
        state = NodeState.ANSWERING if head is not None else node.state
        if head is None and state in (NodeState.ANSWERING, NodeState.UNASKED):
            state = NodeState.FAILING  # it did not answer in time
        if behind is not None and behind > head_allowance(chain):
            state = NodeState.LAGGING
        looks.append(
            NodeLook(node.host, state.value, head, behind, "" if head is not None else node.last_error)
        )
    return looks
