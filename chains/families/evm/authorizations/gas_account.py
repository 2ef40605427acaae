"""Sign the transactions of the account that pays the gas for others. Works offline."""

from typing import Any

from eth_account import Account

from chains.client import EvmCall
from chains.facts.authorizations import SignedTransaction
from chains.families.evm.quantities import to_hex

_FEES = ("gasPrice", "maxFeePerGas", "maxPriorityFeePerGas")
_GROWTH_PERCENT = 113  # nodes replace a transaction only if each price is at least a tenth higher
_AMPLE = 3  # times the current fees, which allow for a base fee that doubles
_ROOM_PERCENT = 125  # of the latest block's price: a base fee can grow by 12.5 % a block
_PLAIN_GAS = 21_000


def address_of(key: str) -> str:
    """Return the address of a private key (hex)."""
    return str(Account.from_key(key).address)


def sign(transaction: dict[str, Any], nonce: int, key: str) -> SignedTransaction:
    """Sign an unsigned transaction (hex quantities) with this nonce."""
    fields = {name: value for name, value in transaction.items() if name != "from"}
    signed = Account.from_key(key).sign_transaction({**fields, "nonce": nonce})
    return SignedTransaction(to_hex(bytes(signed.hash)), to_hex(bytes(signed.raw_transaction)), transaction)


def max_cost(transaction: dict[str, Any]) -> int:
    """Return the most that the transaction's gas can cost in wei. A rollup's data fee is added to it."""
    price = transaction.get("maxFeePerGas") or transaction["gasPrice"]
    return int(transaction["gas"], 16) * int(price, 16)


def raised(transaction: dict[str, Any], current: dict[str, Any]) -> dict[str, Any]:
    """Return the transaction with fees that replace it in a node's pool, at least those that are `current`."""
    fees = {
        name: hex(
            max(int(transaction[name], 16) * _GROWTH_PERCENT // 100 + 1, int(current.get(name, "0x0"), 16))
        )
        for name in _FEES
        if name in transaction
    }
    return {**transaction, **fees}


def is_ample(transaction: dict[str, Any], current: dict[str, Any]) -> bool:
    """Whether the transaction's fees are so far above the `current` ones that it does not wait because of them."""
    return all(
        int(transaction[name], 16) >= _AMPLE * int(current[name], 16)
        for name in _FEES
        if name in transaction and name in current
    )


def capped(transaction: dict[str, Any], cost: int) -> dict[str, Any] | None:
    """Return the transaction with fees with which it costs at most `cost`, in wei.

    None if that is too little for the next blocks.
    """
    price = cost // int(transaction["gas"], 16)
    most = {name: int(transaction[name], 16) for name in _FEES if name in transaction}
    tip = most.get("maxPriorityFeePerGas")
    # `maxFeePerGas` allows for a base fee that doubles; a gas price is the latest block's.
    usual = most["gasPrice"] if tip is None else (most["maxFeePerGas"] - tip) // 2 + tip
    if price * 100 < usual * _ROOM_PERCENT:
        return None
    return {**transaction, **{name: hex(min(fee, price)) for name, fee in most.items()}}


def empty_call(account: str) -> EvmCall:
    """Return a call that does nothing, to take the place of another transaction of the account."""
    return EvmCall(account, b"", gas=_PLAIN_GAS)
