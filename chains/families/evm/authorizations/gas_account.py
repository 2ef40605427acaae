"""Sign the transactions of the operator's account, which pays the gas of sponsored payments. Works offline."""

from typing import Any

from eth_account import Account

from chains.client import EvmCall
from chains.facts.authorizations import SignedTransaction
from chains.families.evm.quantities import to_hex

_FEES = ("gasPrice", "maxFeePerGas", "maxPriorityFeePerGas")
_GROWTH_PERCENT = 113  # nodes replace a transaction only if every price is at least 10 % higher
_AMPLE = 3  # times the current fees, which already allow for a doubled base fee
_ROOM_PERCENT = 125  # of the latest block's price, because a base fee can grow by 12.5 % a block
_PLAIN_GAS = 21_000


def address_of(key: str) -> str:

    return str(Account.from_key(key).address)


def sign(transaction: dict[str, Any], nonce: int, key: str) -> SignedTransaction:

    fields = {name: value for name, value in transaction.items() if name != "from"}
    signed = Account.from_key(key).sign_transaction({**fields, "nonce": nonce})
    return SignedTransaction(to_hex(bytes(signed.hash)), to_hex(bytes(signed.raw_transaction)), transaction)


def max_cost(transaction: dict[str, Any]) -> int:
    """Return the maximum cost of the transaction's gas in wei. On a rollup, the data fee is extra."""
    price = transaction.get("maxFeePerGas") or transaction["gasPrice"]
    return int(transaction["gas"], 16) * int(price, 16)


def raised(transaction: dict[str, Any], current: dict[str, Any]) -> dict[str, Any]:
    """Return the transaction with higher fees, so that nodes replace the old transaction. The fees are at least the
    `current` ones.
    """
    fees = {
        name: hex(
            max(int(transaction[name], 16) * _GROWTH_PERCENT // 100 + 1, int(current.get(name, "0x0"), 16))
        )
        for name in _FEES
        if name in transaction
    }
    return {**transaction, **fees}


def is_ample(transaction: dict[str, Any], current: dict[str, Any]) -> bool:
    """Whether the fees are so far above `current` that higher fees would not get the transaction mined sooner."""
    return all(
        int(transaction[name], 16) >= _AMPLE * int(current[name], 16)
        for name in _FEES
        if name in transaction and name in current
    )


def capped(transaction: dict[str, Any], cost: int) -> dict[str, Any] | None:
    """Return the transaction with fees so low that it costs at most `cost` wei.

    None if such fees are too low for the next blocks.
    """
    price = cost // int(transaction["gas"], 16)
    most = {name: int(transaction[name], 16) for name in _FEES if name in transaction}
    tip = most.get("maxPriorityFeePerGas")
    # `maxFeePerGas` allows for a doubled base fee. `gasPrice` is the latest block's price.
    usual = most["gasPrice"] if tip is None else (most["maxFeePerGas"] - tip) // 2 + tip
    if price * 100 < usual * _ROOM_PERCENT:
        return None
    return {**transaction, **{name: hex(min(fee, price)) for name, fee in most.items()}}


def empty_call(account: str) -> EvmCall:
    """Return a call that does nothing, to replace another transaction of the account."""
    return EvmCall(account, b"", gas=_PLAIN_GAS)
