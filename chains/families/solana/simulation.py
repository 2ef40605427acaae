"""Parse the result of a simulation, and the reason for its failure."""

import re
from dataclasses import dataclass
from typing import Any

from chains.client import ChainError
from chains.families.solana.accounts import Account, read_account
from chains.families.solana.results import sequence, value_of, whole
from chains.rpc.json_rpc import RpcFault, json_object

PAYER_LEFT_TOO_LITTLE = {"InsufficientFundsForRent": {"account_index": 0}}
"""The payer would keep some lamports, but fewer than the rent-exempt minimum."""
_PAYER_CANNOT_PAY = ("AccountNotFound", "InsufficientFundsForFee", PAYER_LEFT_TOO_LITTLE)
# The System Program's log line if the source of a transfer lacks lamports.
_TOO_FEW_LAMPORTS = re.compile(r"^Transfer: insufficient lamports (\d{1,20}), need (\d{1,20})$")


@dataclass(frozen=True)
class Simulation:
    """The result of a simulation.

    `units` is None if the node doesn't return it. `accounts` has the requested accounts after the transaction. `note`
    is the error and the last log line.
    """

    units: int | None
    error: Any
    note: str
    shortfall: int
    """The shortfall of the failed transfer in lamports, if the logs contain it; else 0."""
    accounts: tuple[Account | None, ...]

    @property
    def payer_cannot_pay(self) -> bool:
        """Whether the payer has too few lamports for the fee or the rent."""
        return self.error in _PAYER_CANNOT_PAY


def read_simulation(result: Any, *, account_count: int = 0) -> Simulation:
    """Parse the result of `simulateTransaction`. Raises ChainError if it is malformed or lacks accounts."""
    if isinstance(result, RpcFault):
        raise ChainError(f"the node could not simulate: {result.message}")
    value = json_object(value_of(result))
    if "err" not in value:
        raise ChainError("the node's response lacks the simulation's status")
    error, units = value["err"], value.get("unitsConsumed")
    logs = [line for line in sequence(value.get("logs")) if isinstance(line, str)]
    accounts = () if error is not None or not account_count else tuple(sequence(value.get("accounts")))
    if error is None and len(accounts) != account_count:
        raise ChainError("the node did not return every account after the simulation")
    return Simulation(
        units=None if units is None else whole(units),
        error=error,
        note=(f"{error}; {logs[-1]}" if logs else str(error))[:500],
        shortfall=_shortfall(logs) if error is not None else 0,
        accounts=tuple(read_account(account) for account in accounts),
    )


def _shortfall(logs: list[str]) -> int:
    found = [match for match in map(_TOO_FEW_LAMPORTS.match, logs) if match]
    return max(int(found[-1][2]) - int(found[-1][1]), 0) if found else 0
