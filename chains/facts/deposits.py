"""Deposit addresses, the reasons not to show an address, and the amounts that arrived."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

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
