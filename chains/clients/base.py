"""The narrow interface between the service and a chain: what may be asked, and the one form of the answers.

A client speaks for one chain. It returns facts and never verdicts: whether a request is paid is judged elsewhere, by a
pure function over these dataclasses. "Not there" is a value (`None`); whatever prevents a trustworthy answer (a node
that is down, lagging, rate-limiting or contradicting itself) is a `ChainError`. Adding a family of chains means adding
one class that satisfies `ChainClient` and naming it in `get_client`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol


class ChainError(Exception):
    """No usable answer came from the chain's nodes. `permanent` means that asking again can't help.

    `retry_after` is in seconds, where a node named a time.
    """

    def __init__(self, message: str, *, permanent: bool = False, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.permanent = permanent
        self.retry_after = retry_after


class Refusal(StrEnum):
    """Why a transfer can't be built for this wallet at this moment."""

    INSUFFICIENT_FUNDS = "insufficient_funds"
    INSUFFICIENT_GAS = "insufficient_gas"
    WOULD_FAIL = "transaction_would_fail"


class TransferRefused(Exception):
    """The transfer would fail if it were signed now.

    `missing` is what the wallet lacks, in base units of the token (funds) or the native coin (gas); `note` is the
    node's word for anything else.
    """

    def __init__(self, refusal: Refusal, *, missing: int = 0, note: str = "") -> None:
        super().__init__(f"{refusal}: {note or missing}")
        self.refusal = refusal
        self.missing = missing
        self.note = note


@dataclass(frozen=True)
class Transfer:
    """Money that moved inside one transaction, as the chain itself records it.

    `slot` names the place within the transaction, so that each transfer can be consumed once: the log index (EVM
    token), `value` (EVM native coin). `token` is the contract's address, empty for the native coin. `amount` is in base
    units. `reference` holds the bytes that the payer put directly after the arguments of the very call that moved this
    money, where there are any.
    """

    slot: str
    token: str
    sender: str
    recipient: str
    amount: int
    reference: bytes | None = None


@dataclass(frozen=True)
class Block:
    """The block a transaction stands in; `time` is the block's own, in UTC."""

    number: int
    hash: str
    time: datetime


@dataclass(frozen=True)
class TransactionFacts:
    """What the chain knows of one transaction. `block` is None while it is in none; then nothing else is proved."""

    hash: str
    sender: str
    nonce: int | None
    block: Block | None
    succeeded: bool
    transfers: tuple[Transfer, ...]


@dataclass(frozen=True)
class Head:
    """How far the chain has come: the newest block, and the newest that its own rules call safe and final."""

    latest: int
    safe: int | None = None
    finalized: int | None = None


@dataclass(frozen=True)
class Snapshot:
    """One look at a chain: its head, and each transaction asked for (None where healthy nodes do not know it)."""

    head: Head
    transactions: Mapping[str, TransactionFacts | None]


@dataclass(frozen=True)
class TokenMetadata:
    """What a token's contract says of itself."""

    symbol: str
    decimals: int


class ChainClient(Protocol):
    """One chain, asked through its nodes. Every method raises ChainError when no usable answer came."""

    def chain_id(self) -> int:
        """Return the chain id that the node reports."""
        ...

    def look_up(self, transaction_hashes: Sequence[str], *, with_finality: bool) -> Snapshot:
        """Return the head and these transactions in a number of round trips that does not grow with each of them.

        `with_finality` also asks for the safe and finalized blocks.
        """
        ...

    def build_transfer(
        self, *, token: str, sender: str, recipient: str, amount: int, reference: bytes | None
    ) -> dict[str, Any]:
        """Return the unsigned transaction that moves `amount` base units, in the form that wallets take.

        It was simulated: raises TransferRefused if the wallet lacks the funds or the gas, or if it would fail.
        """
        ...

    def token_metadata(self, addresses: Sequence[str]) -> list[TokenMetadata]:
        """Return what each contract says of itself, in order."""
        ...
