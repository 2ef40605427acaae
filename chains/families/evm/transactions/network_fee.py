"""Read a transaction's network fee from its receipt."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from chains.client import ChainError
from chains.families.evm.quantities import quantity

# Transactions of these types (legacy, access lists, dynamic fees, delegations) cost only gas, in the native coin.
_TYPES = frozenset((0, 1, 2, 4))
_LARGEST = 2**96
_OPERATOR_FEE = ("operatorFeeScalar", "operatorFeeConstant")


def network_fee(transaction: Mapping[str, Any], receipt: Mapping[str, Any]) -> int | None:
    """Return the fee in wei, including a rollup's data fee; None if the receipt doesn't show all of it.

    Blob transactions, fees in tokens (`feeCurrency`), chain-specific types and operator fees return None.
    """
    with suppress(ChainError):
        if quantity(transaction.get("type", "0x0")) not in _TYPES or transaction.get("feeCurrency"):
            return None
        # The receipt has the parameters of the operator fee, but its formula depends on the chain's upgrade.
        if any(quantity(receipt.get(name) or "0x0") for name in _OPERATOR_FEE):
            return None
        gas, price = quantity(receipt.get("gasUsed")), quantity(receipt.get("effectiveGasPrice"))
        fee = gas * price + quantity(receipt.get("l1Fee") or "0x0")
        return fee if fee <= _LARGEST else None
    return None
