"""Transfers that a payer signs and any account can send, and the interface to read them from a chain."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from chains.facts.blocks import Block


@dataclass(frozen=True)
class TokenDomain:
    """The EIP-712 domain of a token's signatures. `name` and `version` are those of the token's contract."""

    chain_id: int
    token: str
    name: str
    version: str


@dataclass(frozen=True, kw_only=True)
class TransferAuthorization:
    """A transfer for the payer to sign. `amount` is in base units. The transfer must be mined before `valid_before`
    (Unix seconds). A token accepts each `nonce` of a payer once.
    """

    domain: TokenDomain
    payer: str
    recipient: str
    amount: int
    valid_before: int
    nonce: bytes

    @property
    def key(self) -> tuple[str, str, bytes]:
        """The token, the payer and the nonce, which identify the authorization on its chain."""
        return self.domain.token, self.payer, self.nonce


@dataclass(frozen=True)
class AuthorizationStates:
    """`used` maps each authorization's key to whether it was used or cancelled up to and including `block`."""

    block: Block
    used: Mapping[tuple[str, str, bytes], bool]


@dataclass(frozen=True)
class SignedTransaction:
    """A transaction that the gas account signed: its hash, its bytes in hex, and its fields without the nonce."""

    hash: str
    raw: str
    unsigned: dict[str, Any]


class Sent(StrEnum):
    """A node's response to a signed transaction."""

    ACCEPTED = "accepted"
    """The node accepted the transaction now, or had it before."""
    USED_UP = "used_up"
    """Another transaction with this nonce is mined."""
    REJECTED = "rejected"
    """The node rejected the transaction: the account lacks coin, or a pending transaction with this nonce has higher
    fees.
    """


class AuthorizationClient(Protocol):
    """Queries about authorizations on one chain. Every method raises ChainError if no node sends a usable response."""

    def domain_separators(self, tokens: Sequence[str]) -> list[bytes]:
        """Return each token's domain separator (the hash of its domain), in the given order; b"" for a token without
        one.
        """

    def states(self, keys: Sequence[tuple[str, str, bytes]], *, at_block: int) -> AuthorizationStates:
        """Return which authorizations (token, payer, nonce) were used or cancelled up to the block of this height.

        On a chain with a quorum, two nodes have to return the same block and states.
        """

    def find_uses(
        self, keys: Collection[tuple[str, str, bytes]], *, since_block: int, until_block: int
    ) -> dict[tuple[str, str, bytes], frozenset[str]]:
        """Return the hashes of the transactions that used or cancelled these authorizations, from the nodes' logs.

        Confirm the transactions with `look_up`. On a chain with a quorum, two nodes are queried, because one may return
        nothing or a wrong transaction.
        """

    def data_fee(self, transaction: Mapping[str, Any]) -> int:
        """Return the amount to reserve for a rollup's fees besides gas: for the data and for the operator.

        A transaction can't limit these fees. The amount is in base units of the coin, and 0 on a chain without such
        fees.
        """

    def used_nonces(self, account: str, *, at_block: int) -> int:
        """Return how many of the account's nonces were used up to the block of this height.

        On a chain with a quorum, two nodes have to return the same number.
        """

    def send(self, raw: str, *, to_all: bool = False) -> Sent:
        """Send a signed transaction (hex) to the nodes until one accepts it. Idempotent.

        With `to_all`, send it to every node, because a node may accept it and not pass it on.
        """
