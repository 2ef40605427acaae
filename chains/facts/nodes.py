"""The abilities and the health of a chain's nodes."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class NodeState(StrEnum):
    UNTRIED = "unasked"
    ANSWERING = "answering"
    LIMITING = "limiting"
    LAGGING = "lagging"
    WRONG_CHAIN = "wrong_chain"
    CONTRADICTED = "contradicted"
    FAILING = "failing"


@dataclass(frozen=True)
class NodeHealth:
    """The health of one node, as this process sees it. `head` is the highest block that the node reported."""

    host: str
    state: NodeState
    head: int | None
    last_error: str
    since: datetime


@dataclass(frozen=True)
class NodeAbilities:
    """One node's abilities.

    `batch` is the maximum number of calls in a request, and `log_blocks` the maximum number of blocks in a log query;
    None if no limit was found. `traces` is None if the chain doesn't need traces. `history` is the depth, in blocks, of
    the state that verification reads.
    """

    head: int
    batch: int | None
    log_blocks: int | None
    traces: bool | None
    history: int
