"""Deposit addresses, the reasons not to show one, and the amounts that they received."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from chains.facts.blocks import Block


@dataclass(frozen=True, kw_only=True)
class Deposit:
    """A deposit address, and the values to recompute it from, in hex. `salt` identifies the payment request."""

    address: str
    factory: str
    salt: str
    init_code: str
    init_code_hash: str


class DepositProblem(StrEnum):
    """Why money sent to a deposit address might not reach its recipient, or why no node can show that it does."""

    FACTORY_MISSING = "factory_missing"
    """No finalized block has the factory with the shipped code."""
    RECIPIENT_IS_CONTRACT = "recipient_is_contract"
    """The recipient is a contract. On another chain, its address may not belong to the merchant."""
    NOT_SWEPT = "not_swept"
    """In the rehearsal, the deposit address did not receive or forward the full amount of the token or the coin."""
    UNSUPPORTED = "unsupported"
    """The nodes can't rehearse a sweep, or can't find where the token stores its balances."""


@dataclass(frozen=True)
class CoinsReceived:
    """How much native coin addresses had received up to and including `block`, in base units.

    Coin that was swept away counts as well, so a later block never has a smaller amount. `swept` is the part that was
    swept away up to the stable block, for the addresses with sweeps.
    """

    block: Block
    amounts: Mapping[str, int]
    swept: Mapping[str, int] = field(default_factory=dict)
