"""Parse Relay's orders, and compute the id that binds a deposit to its order.

A deposit into Relay's depository contains only the order's id. The id is the hash of the whole order: recipient,
minimum amount, deadline and refunds (EIP-712's hashStruct without a domain). We compute the id ourselves, so we
don't have to trust Relay's response about the purpose of a deposit. Source: relayprotocol/relay-settlement,
packages/sdk/src/order, which also has our test vectors.
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
_V1_TYPES: _Types = {
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
_V2_TYPES: _Types = {
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
_TYPES = {"v1": _V1_TYPES, "v2": _V2_TYPES}
# The only accepted solver: Relay's own, from "Contract Addresses" in its documentation (the same on every chain). A
# solver fills orders and refunds deposits. Other solvers are rejected, because an order may let its solver
# keep a deposit without a refund.
SOLVERS = frozenset({"0xf70da97812cb96acdf810712aa562db8dfa3dbef"})
_EVM_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")
_BASE58 = re.compile(r"[1-9A-HJ-NP-Za-km-z]{32,44}")
_MAX_ITEMS = 20
_MAX_BYTES = 16 * 1024


class OrderUnknown(ValueError):
    """The order's version is unknown, or the order has several inputs or outputs."""


@dataclass(frozen=True)
class RelayOrder:
    """An order with one input and one output.

    - `id` is computed from the other fields.
    - Chains have Relay's names; addresses are raw bytes.
    - `solver` (lower-case hex) may fill the order.
    - `refunded` are all accounts that may get a refund.
    - `deadline` is Unix time in seconds.
    - `calls_out` is the number of calls at the destination.
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
    """Parse an order and compute its id. Raises OrderUnknown and ProviderDown."""
    version = reading.text(reading.members(data, "order").get("version"), "order's version")
    if version not in _TYPES:
        raise OrderUnknown("its order has an unknown version")
    order = _typed(_TYPES[version], "Order", data)
    identifier = _struct_hash(version, order)
    return _order_v1(identifier, order) if version == "v1" else _order_v2(identifier, order)


def _order_v1(identifier: bytes, order: Mapping[str, Any]) -> RelayOrder:
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


def _order_v2(identifier: bytes, order: Mapping[str, Any]) -> RelayOrder:
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
    """Convert Relay's JSON to the types of EIP-712. Raises ProviderDown."""
    if of_type.endswith("[]"):
        one = of_type.removesuffix("[]")
        return [_typed(types, one, item) for item in reading.items(value, "order", limit=_MAX_ITEMS)]
    if of_type in types:
        fields = reading.members(value, "order")
        return {name: _typed(types, kind, fields.get(name)) for name, kind in types[of_type]}
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
    """Decode bytes in an order. Data and EVM addresses are hex, Solana addresses are base58."""
    if isinstance(written, str) and _BASE58.fullmatch(written):
        try:
            return bytes(Pubkey.from_string(written))
        except ValueError:
            raise reading.malformed("order") from None
    return reading.data_bytes(written, "order", limit=_MAX_BYTES)


def _struct_hash(version: str, order: Mapping[str, Any]) -> bytes:
    message = {"types": _named(version), "primaryType": "Order", "domain": {}, "message": order}
    try:
        # The body of an EIP-712 message is the hash of its struct.
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
