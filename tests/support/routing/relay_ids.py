"""Calculate the id of a Relay order of version v1 (EIP-712), without the code under test.

Tests use it to give their invented quotes an id. It is checked against the ids in Relay's recorded orders.
"""

from collections.abc import Mapping
from typing import Any

from eth_utils.crypto import keccak
from solders.pubkey import Pubkey

from tests.support.routing.recorded import recorded

VECTORS = recorded("relay_orders")
"""Recorded orders with the ids that Relay gave them."""

_FEE = "Fee(string recipientChainId,bytes recipient,string currencyChainId,bytes currency,uint256 amount)"
_PAYMENT = "InputPayment(string chainId,bytes currency,uint256 amount,uint256 weight)"
_REFUND = (
    "InputRefund(string chainId,bytes recipient,bytes currency,"
    "uint256 minimumAmount,uint32 deadline,bytes extraData)"
)
_INPUT = "Input(InputPayment payment,InputRefund[] refunds)"
_PAID = "OutputPayment(bytes recipient,bytes currency,uint256 minimumAmount,uint256 expectedAmount)"
_OUTPUT = "Output(string chainId,OutputPayment[] payments,uint32 deadline,bytes[] calls,bytes extraData)"
_ORDER = (
    "Order(string version,string solverChainId,address solver,uint256 salt,"
    "Input[] inputs,Output output,Fee[] fees)"
)


def order_id(order: Mapping[str, Any]) -> bytes:
    return _hashed(
        _ORDER + _FEE + _INPUT + _PAYMENT + _REFUND + _OUTPUT + _PAID,
        _text(order["version"]),
        _text(order["solverChainId"]),
        bytes(12) + bytes.fromhex(order["solver"][2:]),
        _number(order["salt"]),
        keccak(b"".join(map(_input, order["inputs"]))),
        _output(order["output"]),
        keccak(b"".join(map(_fee, order["fees"]))),
    )


def _input(given: Mapping[str, Any]) -> bytes:
    payment = given["payment"]
    paid = _hashed(
        _PAYMENT,
        _text(payment["chainId"]),
        _raw(payment["currency"]),
        _number(payment["amount"]),
        _number(payment["weight"]),
    )
    return _hashed(_INPUT + _PAYMENT + _REFUND, paid, keccak(b"".join(map(_refund, given["refunds"]))))


def _refund(refund: Mapping[str, Any]) -> bytes:
    return _hashed(
        _REFUND,
        _text(refund["chainId"]),
        _raw(refund["recipient"]),
        _raw(refund["currency"]),
        _number(refund["minimumAmount"]),
        _number(refund["deadline"]),
        _raw(refund["extraData"]),
    )


def _output(output: Mapping[str, Any]) -> bytes:
    payments = [
        _hashed(
            _PAID,
            _raw(paid["recipient"]),
            _raw(paid["currency"]),
            _number(paid["minimumAmount"]),
            _number(paid["expectedAmount"]),
        )
        for paid in output["payments"]
    ]
    return _hashed(
        _OUTPUT + _PAID,
        _text(output["chainId"]),
        keccak(b"".join(payments)),
        _number(output["deadline"]),
        keccak(b"".join(map(_raw, output["calls"]))),
        _raw(output["extraData"]),
    )


def _fee(fee: Mapping[str, Any]) -> bytes:
    return _hashed(
        _FEE,
        _text(fee["recipientChainId"]),
        _raw(fee["recipient"]),
        _text(fee["currencyChainId"]),
        _raw(fee["currency"]),
        _number(fee["amount"]),
    )


def _hashed(type_: str, *words: bytes) -> bytes:
    return keccak(keccak(text=type_) + b"".join(words))


def _text(value: str) -> bytes:
    return keccak(text=value)


def _raw(value: str) -> bytes:
    return keccak(bytes.fromhex(value[2:]) if value[:2] == "0x" else bytes(Pubkey.from_string(value)))


def _number(value: int | str) -> bytes:
    return (value if isinstance(value, int) else int(value, 0)).to_bytes(32, "big")
