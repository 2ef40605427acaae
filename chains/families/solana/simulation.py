"""Reading what came of a transaction that a node only simulated, and why it failed where it did."""

import re
from dataclasses import dataclass
from typing import Any

from chains.client import ChainError
from chains.families.solana.accounts import Account, read_account
from chains.families.solana.answers import mapping, sequence, value_of, whole
from chains.rpc.json_rpc import RpcFault

PAYER_LEFT_TOO_LITTLE = {"InsufficientFundsForRent": {"account_index": 0}}
"""The payer would keep less than an account needs, yet not nothing."""
_PAYER_CANNOT_PAY = ("AccountNotFound", "InsufficientFundsForFee", PAYER_LEFT_TOO_LITTLE)
# The System Program's own words for a transfer that its source can't afford.
_TOO_FEW_LAMPORTS = re.compile(r"^Transfer: insufficient lamports (\d{1,20}), need (\d{1,20})$")


@dataclass(frozen=True)
class Trial:
    """What came of a simulation. `units` is None where the node does not tell; `accounts` are those asked back, after.

    `note` is the error with the program's last words.
    """

    units: int | None
    error: Any
    note: str
    lacking: int
    """Lamports that the transfer which failed was short of, as far as the logs tell; else 0."""
    accounts: tuple[Account | None, ...]

    @property
    def payer_cannot_pay(self) -> bool:
        """Whether it failed for want of lamports to pay the network or to be kept."""
        return self.error in _PAYER_CANNOT_PAY


def read_trial(answer: Any, *, asked_back: int = 0) -> Trial:
    """Return what a node's `simulateTransaction` answered. Raises ChainError, also where accounts are missing."""
    if isinstance(answer, RpcFault):
        raise ChainError(f"the node could not simulate: {answer.message}")
    value = mapping(value_of(answer))
    if "err" not in value:
        raise ChainError("the node does not tell whether the simulation succeeded")
    error, units = value["err"], value.get("unitsConsumed")
    logs = [line for line in sequence(value.get("logs")) if isinstance(line, str)]
    accounts = () if error is not None or not asked_back else tuple(sequence(value.get("accounts")))
    if error is None and len(accounts) != asked_back:
        raise ChainError("the node did not show what the simulation left of every account")
    return Trial(
        units=None if units is None else whole(units),
        error=error,
        note=(f"{error}; {logs[-1]}" if logs else str(error))[:500],
        lacking=_lacking(logs) if error is not None else 0,
        accounts=tuple(read_account(account) for account in accounts),
    )


def _lacking(logs: list[str]) -> int:
    """Return how much the last transfer of lamports was short of."""
    found = [match for match in map(_TOO_FEW_LAMPORTS.match, logs) if match]
    return max(int(found[-1][2]) - int(found[-1][1]), 0) if found else 0
