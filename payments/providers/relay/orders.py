"""Relay's orders, and the id that ties a deposit to one.

A deposit into Relay's depository names an order by its id alone. That id is the hash of the whole order (EIP-712's
hashStruct, without a domain): who gets what, at least how much, until when, and who gets a refund. So the id is worked
out here again, and what a deposit pays for is known without taking anybody's word.
Source: relayprotocol/relay-settlement, packages/sdk/src/order, whose test vectors ours are.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from eth_account.messages import encode_typed_data
from solders.pubkey import Pubkey

from payments.providers import reading

_Types = Mapping[str, tuple[tuple[str, str], ...]]

_FEE = (
    ("recipientChainId", "string"),
    ("recipient", "bytes"),
    ("currencyChainId", "string"),
    ("currency", "bytes"),
    ("amount", "uint256"),
)
_FIRST_TYPES: _Types = {
    "Order": (
        ("version", "string"),
        ("solverChainId", "string"),
        ("solver", "address"),
        ("salt", "uint256"),
        ("inputs", "Input[]"),
        ("output", "Output"),
        ("fees", "Fee[]"),
    ),
    "Input": (("payment", "InputPayment"), ("refunds", "InputRefund[]")),
    "InputPayment": (
        ("chainId", "string"),
        ("currency", "bytes"),
        ("amount", "uint256"),
        ("weight", "uint256"),
    ),
    "InputRefund": (
        ("chainId", "string"),
        ("recipient", "bytes"),
        ("currency", "bytes"),
        ("minimumAmount", "uint256"),
        ("deadline", "uint32"),
        ("extraData", "bytes"),
    ),
    "Output": (
        ("chainId", "string"),
        ("payments", "OutputPayment[]"),
        ("deadline", "uint32"),
        ("calls", "bytes[]"),
        ("extraData", "bytes"),
    ),
    "OutputPayment": (
        ("recipient", "bytes"),
        ("currency", "bytes"),
        ("minimumAmount", "uint256"),
        ("expectedAmount", "uint256"),
    ),
    "Fee": _FEE,
}
_SECOND_TYPES: _Types = {
    "Order": (
        ("version", "string"),
        ("relayerChainId", "string"),
        ("relayer", "address"),
        ("salt", "uint256"),
        ("deadline", "uint32"),
        ("input", "Input"),
        ("refunds", "Refund[]"),
        ("output", "Output"),
        ("fees", "Fee[]"),
    ),
    "Input": (("chainId", "string"), ("currency", "bytes"), ("amount", "uint256")),
    "Refund": (
        ("chainId", "string"),
        ("currency", "bytes"),
        ("minimumAmount", "uint256"),
        ("recipient", "bytes"),
    ),
    "Output": (("chainId", "string"), ("withdraw", "Withdraw"), ("fill", "Fill")),
    "Withdraw": (("currency", "bytes"), ("minimumAmount", "uint256")),
    "Fill": (
        ("currency", "bytes"),
        ("minimumAmount", "uint256"),
        ("recipient", "bytes"),
        ("calls", "bytes[]"),
    ),
    "Fee": _FEE,
}
_TYPES = {"v1": _FIRST_TYPES, "v2": _SECOND_TYPES}
# Who alone may fill an order that we pay for, or refund its deposit: Relay's own solver, as its documentation names it
# ("Contract Addresses"; the same on every chain). An order may let its solver refund as little as nothing.
SOLVERS = frozenset({"0xf70da97812cb96acdf810712aa562db8dfa3dbef"})
_EVM_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")
_BASE58 = re.compile(r"[1-9A-HJ-NP-Za-km-z]{32,44}")
_MOST_ITEMS = 20
_MOST_BYTES = 16 * 1024


class OrderUnknown(ValueError):
    """An order of a version that is not known here, or one that is more than a single payment for a single payment."""


@dataclass(frozen=True)
class RelayOrder:
    """One payment for another: `id` is worked out from the rest. Chains by Relay's names, addresses as raw bytes.

    `solver` (lower-case hex) is who may fill it. `refunded` are all accounts that may get the deposit back. `deadline`
    is in seconds of Unix time. `calls_out` is how many calls go with the payment.
    """

    id: bytes
    solver: str
    source_chain: str
    source_currency: bytes
    source_amount: int
    target_chain: str
    target_currency: bytes
    recipient: bytes
    minimum: int
    refunded: frozenset[bytes]
    deadline: int
    calls_out: int


def read_order(data: Any) -> RelayOrder:
    """Return the order in Relay's JSON, with the id that follows from it. Raises OrderUnknown and ProviderDown."""
    version = reading.text(reading.members(data, "order").get("version"), "order's version")
    if version not in _TYPES:
        raise OrderUnknown("its order is of a version that is not known")
    order = _typed(_TYPES[version], "Order", data)
    identifier = _struct_hash(version, order)
    return _first(identifier, order) if version == "v1" else _second(identifier, order)


def _first(identifier: bytes, order: Mapping[str, Any]) -> RelayOrder:
    inputs, output = order["inputs"], order["output"]
    if len(inputs) != 1 or len(output["payments"]) != 1:
        raise OrderUnknown("its order is for several payments")
    payment, paid = inputs[0]["payment"], output["payments"][0]
    refunds = inputs[0]["refunds"]
    return RelayOrder(
        identifier,
        order["solver"].lower(),
        payment["chainId"],
        payment["currency"],
        payment["amount"],
        output["chainId"],
        paid["currency"],
        paid["recipient"],
        paid["minimumAmount"],
        frozenset(refund["recipient"] for refund in refunds),
        min([output["deadline"], *(refund["deadline"] for refund in refunds)]),
        len(output["calls"]),
    )


def _second(identifier: bytes, order: Mapping[str, Any]) -> RelayOrder:
    payment, fill = order["input"], order["output"]["fill"]
    return RelayOrder(
        identifier,
        order["relayer"].lower(),
        payment["chainId"],
        payment["currency"],
        payment["amount"],
        order["output"]["chainId"],
        fill["currency"],
        fill["recipient"],
        fill["minimumAmount"],
        frozenset(refund["recipient"] for refund in order["refunds"]),
        order["deadline"],
        len(fill["calls"]),
    )


def _typed(types: _Types, of_type: str, value: Any) -> Any:
    """Return Relay's JSON in the types of EIP-712. Raises ProviderDown."""
    if of_type.endswith("[]"):
        one = of_type.removesuffix("[]")
        return [_typed(types, one, item) for item in reading.items(value, "order", most=_MOST_ITEMS)]
    if of_type in types:
        said = reading.members(value, "order")
        return {name: _typed(types, kind, said.get(name)) for name, kind in types[of_type]}
    if of_type.startswith("uint"):
        return _whole(value, int(of_type.removeprefix("uint")))
    if of_type == "bytes":
        return bytes_of(value)
    if of_type == "address" and not _EVM_ADDRESS.fullmatch(reading.text(value, "order")):
        raise reading.malformed("order")
    return reading.text(value, "order")


def _whole(value: Any, bits: int) -> int:
    number = reading.quantity(value, "order")
    if number >= 2**bits:
        raise reading.malformed("order")
    return number


def bytes_of(written: Any) -> bytes:
    """Return the bytes that Relay's orders write as hex (data, EVM addresses) or in base58 (Solana's addresses)."""
    if isinstance(written, str) and _BASE58.fullmatch(written):
        try:
            return bytes(Pubkey.from_string(written))
        except ValueError:
            raise reading.malformed("order") from None
    return reading.data_bytes(written, "order", most=_MOST_BYTES)


def _struct_hash(version: str, order: Mapping[str, Any]) -> bytes:
    message = {"types": _named(version), "primaryType": "Order", "domain": {}, "message": order}
    try:
        # What follows the domain in the signable message is the hash of the structure itself.
        return bytes(encode_typed_data(full_message=message).body)
    except (ValueError, TypeError) as error:
        raise reading.malformed("order") from error


@cache
def _named(version: str) -> dict[str, list[dict[str, str]]]:
    fields = {
        struct: [{"name": name, "type": kind} for name, kind in members]
        for struct, members in _TYPES[version].items()
    }
    return {"EIP712Domain": [], **fields}
