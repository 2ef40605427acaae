"""Deposit addresses, the reasons not to show an address, and the amounts that arrived."""

import time
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from chains.facts.blocks import Block


@dataclass(frozen=True, kw_only=True)
class Deposit:
    """A deposit address, and the values from which it can be recomputed, in hex. `salt` identifies the payment
    request.
    """

    address: str
    factory: str
    salt: str
    init_code: str
    init_code_hash: str


class DepositProblem(StrEnum):
    """Why a deposit address isn't shown: its money might not reach the recipient, or no node can prove that it does."""

    FACTORY_MISSING = "factory_missing"
    """No finalized block has the factory with the shipped code."""
    RECIPIENT_IS_CONTRACT = "recipient_is_contract"
    """The recipient is a contract. On another chain, its address may not belong to the merchant."""
    NOT_SWEPT = "not_swept"
    """In the simulation, the deposit address did not receive or forward the full amount."""
    UNSUPPORTED = "unsupported"
    """The nodes can't simulate a sweep, or can't find the storage of the token's balances."""


@dataclass(frozen=True)
class CoinsReceived:
    """How much native coin addresses had received up to and including `block`, in base units.

    Coin that was swept away counts too, so the amount never falls. `swept` is the part that was swept up to the stable
    block, without the addresses that had no sweeps. Addresses whose amount is unknown are omitted from both.
    """

    block: Block
    amounts: Mapping[str, int]
    swept: Mapping[str, int] = field(default_factory=dict)


class ReceiptTime:
    """How long the reads of one step may spend on blocks whose sweeps have to come from receipts.

    Each node has its own time, so that a slow node leaves the other nodes theirs.
    """

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._left: defaultdict[Hashable, float] = defaultdict(lambda: seconds)

    def left(self, node: Hashable) -> float:
        return self._left[node]

    def spend(self, node: Hashable, started: float) -> None:
        """Subtract the time since `started`."""
        self._left[node] -= self.clock() - started


class CoinClient(Protocol):
    """Reads the native coin that deposit addresses received."""

    def coins_received(
        self,
        addresses: Sequence[str],
        *,
        since_block: int,
        at_block: int,
        stable_block: int = -1,
        receipts: ReceiptTime | None = None,
    ) -> CoinsReceived:
        """Return how much native coin each deposit address had received up to the block `at_block`.

        The amount is the address's balance plus its sweeps since `since_block`. The result's `swept` has the sweeps up
        to `stable_block`. On a chain with a quorum, two nodes have to return the same block and amounts of an address.
        An address is omitted if its amount can't be read now; it may have received any amount.

        If nodes reject the query for an address' sweeps in one block, the block's receipts are read instead, but only
        with `receipts`.

        Raises ChainError if too few nodes have the block's state, or if no address could be read: StateMissing if the
        nodes lack nothing but the state, and SweepsMissing if no node returns the sweeps of any address.
        """

    def coins_swept(
        self,
        addresses: Sequence[str],
        *,
        since_block: int,
        until_block: int,
        receipts: ReceiptTime | None = None,
    ) -> Mapping[str, int]:
        """Return how much native coin each address swept in these final blocks. The nodes need no state."""
