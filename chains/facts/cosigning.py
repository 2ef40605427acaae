"""Transactions that two accounts sign: first the payer, then the operator's account, which pays the fee."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from chains.facts.authorizations import Sent


@dataclass(frozen=True)
class Sponsored:
    """An unsigned transaction whose fee payer is the operator's account.

    No block above `last_valid_height` can include the transaction. `fee` is the maximum network fee. `deposit` is the
    rent of the recipient's new token account, or 0. Fee and deposit are in base units of the native coin.
    """

    transaction: bytes
    last_valid_height: int
    fee: int
    deposit: int


@dataclass(frozen=True)
class PayerSigned:
    """A transaction with the payer's valid signature, but without the fee payer's. `fee` is the maximum network fee."""

    transaction: bytes
    signature: bytes
    fee: int


@dataclass(frozen=True)
class Pending:
    """A transaction that the payer signed. No block above `last_valid_height` can include this transaction."""

    transaction: bytes
    last_valid_height: int


class Fate(StrEnum):
    """The final outcome of a transaction."""

    LANDED = "landed"
    """The transaction is in a final block, whether it succeeded or failed."""
    EXPIRED = "expired"
    """The transaction is in no block, and no block can include it any more."""


class CannotSponsor(Exception):
    """The operator's account can't pay for this transaction. The message is the reason, for the log."""


class TooLate(Exception):
    """The transaction's blockhash has expired, or expires too soon to send it."""


class CosigningClient(Protocol):
    """Queries about sponsored transactions on one chain.

    Every method raises ChainError if no node sends a usable response.
    """

    def token_problems(self, tokens: Sequence[str]) -> list[str]:
        """Return, for each token, the reason why its transfers can't be sponsored; "" if they can."""

    def height(self) -> int:
        """Return the height of the newest confirmed block, to compare with `last_valid_height`."""

    def build(
        self,
        *,
        token: str,
        payer: str,
        recipient: str,
        amount: int,
        reference: bytes,
        sponsor: str,
        may_open: bool,
    ) -> Sponsored:
        """Return the simulated, unsigned transfer of the payer's tokens with `sponsor` as the fee payer.

        With `may_open`, the sponsor pays the rent of a new token account if the recipient has none. Raises
        TransferRefused if the payer lacks funds or the transfer would fail, and CannotSponsor.
        """

    def rehearse(self, signed: PayerSigned, *, last_valid_height: int) -> None:
        """Simulate a transaction as the payer signed it. Raises TransferRefused, CannotSponsor and TooLate."""

    def send(self, raw: str, *, to_all: bool = False) -> Sent:
        """Send a signed transaction (base64) to the nodes until one accepts it. Idempotent.

        A node simulates it first, and does not send a transaction that would fail. With `to_all`, send it to every
        node, because a node may accept it and not pass it on.
        """

    def fates(self, transactions: Mapping[str, Pending]) -> dict[str, Fate]:
        """Return the fates of the transactions, by hash.

        Transactions that can still be mined are omitted. On a chain with a quorum, two nodes must agree. A transaction
        has expired if a final block is above its `last_valid_height` and the nodes report its blockhash as invalid. The
        height alone is no proof, because only one node reported `last_valid_height`.
        """
