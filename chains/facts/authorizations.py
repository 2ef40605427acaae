"""Transfers that a payer signs and that any account can send, and how they are read from a chain."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

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


class AuthorizationClient(Protocol):
    """Queries about authorizations on one chain. Every method raises ChainError if no node sends a usable response."""

    def domain_separators(self, tokens: Sequence[str]) -> list[bytes]:
        """Return the hash of the domain that each token verifies signatures for, in order; b"" without one."""

    def states(self, keys: Sequence[tuple[str, str, bytes]], *, at_block: int) -> AuthorizationStates:
        """Return which authorizations (token, payer, nonce) were used or cancelled up to the block of this height.

        If nodes must agree, two have to, on the block and each state.
        """
