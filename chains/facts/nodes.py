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
    """The health of one node as this process sees it; `head` is the highest block it reported, `since` is in UTC."""

    host: str
    state: NodeState
    head: int | None
    last_error: str
    since: datetime


@dataclass(frozen=True)
class NodeAbilities:
    """One node's abilities: its head, its largest batch and log range (None: no limit found), whether it traces (None:
    not needed on this chain), and the depth in blocks of the history that verification reads.
    """

    head: int
    batch: int | None
    log_blocks: int | None
    traces: bool | None
    history: int
