"""A history's nodes and webhook receiver.

Their responses are scripted, and the calling process stops before and after.
"""

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from chains.client import Discovery, SearchLimits, Snapshot, Watch
from chains.models import Chain
from tests.integration.properties.ledger import GONE, Ledger, Sent
from tests.integration.simulation.actors import stop_at
from tests.integration.simulation.overlaps import Overlaps
from webhooks.dispatch.http_client import Answer
from webhooks.dispatch.leasing import Claim


@dataclass
class Nodes(Ledger):
    """The chain, with the engine's client interface. Its hashes depend on the seed."""

    chance: random.Random = field(default_factory=random.Random)
    overlaps: Overlaps = field(default_factory=Overlaps)

    def __call__(self, chain: Chain) -> Any:
        return self

    def new_hash(self) -> str:
        return f"0x{self.chance.getrandbits(256):064x}"

    def look_up(
        self, hashes: Sequence[str], *, with_finality: bool, mentioning: Collection[str] = ()
    ) -> Snapshot:
        with self.overlaps.noted():
            stop_at("asks the nodes")
            snapshot = super().look_up(hashes, with_finality=with_finality, mentioning=mentioning)
            stop_at("has the nodes' answer")
        return snapshot

    def transaction_counts(self, senders: Sequence[str]) -> Mapping[str, int]:
        stop_at("asks the nodes for nonces")
        return super().transaction_counts(senders)

    def transaction_of_nonce(self, sender: str, nonce: int) -> str | None:
        stop_at("asks the nodes for a replacement")
        return super().transaction_of_nonce(sender, nonce)

    def head(self) -> int:
        stop_at("asks the nodes for the head")
        self._answer()
        return self.height

    def block_at(self, moment: datetime) -> int:
        return 0

    def search_limits(self) -> SearchLimits:
        return SearchLimits(by_block=True, watches=100, searches=4)

    def discover(
        self, watches: Sequence[Watch], *, since_block: int | None, until_block: int | None = None
    ) -> Discovery:
        stop_at("searches the chain")
        return super().discover(watches, since_block=since_block)

    def rebroadcast_all(self) -> None:
        """Have each wallet send the transactions again that a reorganisation dropped."""
        for sent in self.sent.values():
            if sent.at == GONE:
                self.rebroadcast(sent)

    def paid(self, reference: bytes, recipient: str) -> dict[str, int]:
        """Return the amounts by transaction that are on the chain for this recipient and reference."""
        return {
            sent.hash: units
            for sent in self.sent.values()
            if sent.is_mined and sent.succeeds and (units := moved(sent, reference, recipient))
        }


def moved(sent: Sent, reference: bytes, recipient: str) -> int:
    """Return the amount that the transaction moves to the recipient with the reference, if it succeeds."""
    moves = [move for move in sent.moves if reference in move.references and move.recipient == recipient]
    return sum(move.amount for move in moves)


@dataclass
class Receiver:
    """The merchants' endpoint. `failing` is the share of calls that fail. Half of the failed calls still arrive."""

    chance: random.Random
    overlaps: Overlaps
    failing: float = 0.0
    received: dict[str, list[bytes]] = field(default_factory=dict)

    def __call__(self, claim: Claim, now: datetime) -> Answer:
        with self.overlaps.noted():
            stop_at(f"sends {claim.type}")
            fails = self.chance.random() < self.failing
            arrives = not fails or self.chance.random() < 0.5
            if arrives:
                self.received.setdefault(claim.event_id, []).append(claim.body)
            stop_at("has the receiver's answer")
        if not fails:
            return Answer(200, "", "", 20)
        status = self.chance.choice((None, 500, 503))
        return Answer(status, "The endpoint failed.", "", self.chance.choice((20, 10_000)))
