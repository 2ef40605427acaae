"""Deposit addresses whose balances the test sets, and the rows of the calls that sweep them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from eth_abi.abi import decode

from chains.client import ChainError, EvmCall
from chains.families.evm.deposits.addresses import deposit_of
from payments.models import DepositAddress, PaymentRequest

NATIVE = "0x" + "00" * 20


@dataclass
class Holdings:
    """A chain on which the test sets the balances."""

    held: dict[tuple[str, str], int] = field(default_factory=dict)
    error: ChainError | None = None
    silent: frozenset[str] = frozenset()

    def holdings(self, places: Sequence[tuple[str, str]]) -> dict[tuple[str, str], int]:
        if self.error:
            raise self.error
        return {place: self.held.get(place, 0) for place in places if place[1] not in self.silent}

    def of(self, chain: object) -> Any:
        return self


def shown(request: PaymentRequest) -> str:
    """Store the request's real deposit address; return it."""
    deposit = deposit_of(request.recipient_address, request.pk)
    DepositAddress.objects.create(
        request=request,
        chain=request.chain,
        address=deposit.address,
        recipient_address=request.recipient_address,
        factory=deposit.factory,
        init_code_hash=deposit.init_code_hash,
    )
    return deposit.address


def rows(data: bytes) -> list[tuple[str, str, str]]:
    """Return the (recipient, salt, token) rows of a call to the factory's `sweep`."""
    sweeps, _ = decode(["(address,bytes32,address)[]", "uint256"], data[4:])
    return [(recipient, "0x" + salt.hex(), token) for recipient, salt, token in sweeps]


def row(request: PaymentRequest, token: str) -> tuple[str, str, str]:
    deposit = deposit_of(request.recipient_address, request.pk)
    return request.recipient_address.lower(), deposit.salt, (token or NATIVE).lower()


class Node(Holdings):
    """A chain that can also estimate gas: 100,000 for each call, or nothing."""

    gas_error: ChainError | None = None
    estimate: int | None = 100_000

    def estimated_gas(self, calls: Sequence[EvmCall]) -> list[int | None]:
        if self.gas_error:
            raise self.gas_error
        return [self.estimate for _ in calls]
