"""Transfers that a payer signs and that any account can send, and how they are read from a chain."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from chains.facts.blocks import Block


@dataclass(frozen=True)
class TokenDomain:
    """What a token's signatures are valid for: the token on one chain, by the name and version of its domain."""

    chain_id: int
    token: str
    name: str
    version: str


@dataclass(frozen=True, kw_only=True)
class TransferAuthorization:
    """A transfer for the payer to sign. `amount` is in base units; it is valid in blocks before `valid_before` (Unix
    seconds). A token accepts each `nonce` of a payer once.
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
    """Which authorizations were used or cancelled up to and including `block`, by their keys."""

    block: Block
    used: Mapping[tuple[str, str, bytes], bool]


@dataclass(frozen=True)
class SignedTransaction:
    """A transaction that the gas account signed: its hash, its bytes in hex, and what was signed (without a nonce)."""

    hash: str
    raw: str
    unsigned: dict[str, Any]


class Sent(StrEnum):
    """What a node said to a signed transaction."""

    ACCEPTED = "accepted"
    """It has it, now or before."""
    USED_UP = "used_up"
    """Another transaction with this nonce is mined."""
    REJECTED = "rejected"
    """It does not take it: the account lacks coin, or a waiting transaction with this nonce pays more."""


class AuthorizationClient(Protocol):
    """Queries about authorizations on one chain. Every method raises ChainError if no node sends a usable response."""

    def domain_separators(self, tokens: Sequence[str]) -> list[bytes]:
        """Return the hash of the domain that each token verifies signatures for, in order; b"" without one."""

    def states(self, keys: Sequence[tuple[str, str, bytes]], *, at_block: int) -> AuthorizationStates:
        """Return which authorizations (token, payer, nonce) were used or cancelled up to the block of this height.

        If nodes must agree, two have to, on the block and each state.
        """

    def find_uses(
        self, keys: Collection[tuple[str, str, bytes]], *, since_block: int, until_block: int
    ) -> dict[tuple[str, str, bytes], frozenset[str]]:
        """Return the hashes of the transactions that used or cancelled these authorizations, by the nodes' logs.

        They are candidates, which `look_up` confirms. If nodes must agree, two are queried: one may show none, or a
        wrong one.
        """

    def data_fee(self, transaction: Mapping[str, Any]) -> int:
        """Return what to reserve for the fee that the chain takes for the data of this unsigned transaction.

        A transaction can't limit this fee. In base units of the coin; 0 on a chain without it.
        """

    def send(self, raw: str, *, to_all: bool = False) -> Sent:
        """Send a signed transaction (hex) to the nodes until one accepts it. Sending it again does no harm.

        With `to_all`, send it to each of them: one may accept it and not pass it on.
        """
