"""Parse the result of a simulated transaction, and why it failed."""

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
class Simulation:
    """The result of a simulation. `units` is None if the node omits it; `accounts` are the requested ones afterwards.

    `note` is the error with the last log line.
    """

    units: int | None
    error: Any
    note: str
    lacking: int
    """The shortfall of the failed transfer in lamports, if the logs contain it; else 0."""
    accounts: tuple[Account | None, ...]

    @property
    def payer_cannot_pay(self) -> bool:
        """Whether it failed because the payer has too few lamports for the fee or the rent."""
        return self.error in _PAYER_CANNOT_PAY


def read_simulation(answer: Any, *, asked_back: int = 0) -> Simulation:
    """Parse a node's answer to `simulateTransaction`. Raises ChainError, also if accounts are missing."""
    if isinstance(answer, RpcFault):
        raise ChainError(f"the node could not simulate: {answer.message}")
    value = mapping(value_of(answer))
    if "err" not in value:
        raise ChainError("the node's answer lacks the simulation's status")
    error, units = value["err"], value.get("unitsConsumed")
    logs = [line for line in sequence(value.get("logs")) if isinstance(line, str)]
    accounts = () if error is not None or not asked_back else tuple(sequence(value.get("accounts")))
    if error is None and len(accounts) != asked_back:
        raise ChainError("the node did not show what the simulation left of every account")
    return Simulation(
        units=None if units is None else whole(units),
        error=error,
        note=(f"{error}; {logs[-1]}" if logs else str(error))[:500],
        lacking=_lacking(logs) if error is not None else 0,
        accounts=tuple(read_account(account) for account in accounts),
    )


def _lacking(logs: list[str]) -> int:
    """Return the shortfall of the last transfer of lamports."""
    found = [match for match in map(_TOO_FEW_LAMPORTS.match, logs) if match]
    return max(int(found[-1][2]) - int(found[-1][1]), 0) if found else 0
