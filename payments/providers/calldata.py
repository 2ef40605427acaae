"""Reading what a provider's call would do, where its shape is known: pure functions over its bytes.

Known are LI.FI's bridge calls (all of them begin with `BridgeData`), its same-chain swaps, and Relay's depository.
Sources: lifinance/contracts (`ILiFi.BridgeData`, `LibSwap.SwapData`, `GenericSwapFacet`, `GenericSwapFacetV3`), and the
calls that Relay's own quotes hold.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from eth_abi.abi import decode
from eth_abi.exceptions import DecodingError
from eth_utils.address import to_checksum_address

_WORD = 32
_NATIVE = "0x0000000000000000000000000000000000000000"
# What LI.FI writes for a receiver whose account does not fit 20 bytes; the real one stands in the bridge's own
# data.
NOT_EVM = "0x11f111f111f111F111f111f111F111f111f111F1"

_BRIDGE_DATA = "(bytes32,string,string,address,address,address,uint256,uint256,bool,bool)"
_SWAP_DATA = "(address,address,address,address,uint256,bytes,bool)"
_SWAP_HEAD = ("bytes32", "string", "string", "address", "uint256")
# Swaps on one chain: which of them take a list of swaps. The name says what goes in and what comes out.
_SWAPS = {
    bytes.fromhex("4630a0d8"): f"{_SWAP_DATA}[]",  # swapTokensGeneric
    bytes.fromhex("4666fc80"): _SWAP_DATA,  # swapTokensSingleV3ERC20ToERC20
    bytes.fromhex("733214a3"): _SWAP_DATA,  # swapTokensSingleV3ERC20ToNative
    bytes.fromhex("af7060fd"): _SWAP_DATA,  # swapTokensSingleV3NativeToERC20
    bytes.fromhex("5fd9ae2e"): f"{_SWAP_DATA}[]",  # swapTokensMultipleV3ERC20ToERC20
    bytes.fromhex("2c57e884"): f"{_SWAP_DATA}[]",  # swapTokensMultipleV3ERC20ToNative
    bytes.fromhex("736eac0b"): f"{_SWAP_DATA}[]",  # swapTokensMultipleV3NativeToERC20
}
_DEPOSIT_NATIVE = bytes.fromhex("49290c1c")  # depositNative(address,bytes32)
_DEPOSIT_ERC20 = bytes.fromhex("e8017952")  # depositErc20(address,address,uint256,bytes32)
_DECODING_FAILED = (DecodingError, UnicodeDecodeError, OverflowError, ValueError)


class Unreadable(ValueError):
    """A call that begins as a known shape and does not go on as one."""


@dataclass(frozen=True)
class BridgeCall:
    """LI.FI's `BridgeData`: `asset` and `min_amount` are those of the bridge's own leg, on the source chain.

    `min_amount` is not what arrives. `receiver` is NOT_EVM for a receiver on another kind of chain.
    """

    transaction_id: bytes
    asset: str
    receiver: str
    min_amount: int
    destination_chain_id: int
    has_source_swaps: bool


@dataclass(frozen=True)
class SwapCall:
    """A swap on one chain, which itself enforces that `receiver` gets `min_amount_out` of `token_out`."""

    transaction_id: bytes
    receiver: str
    min_amount_out: int
    token_in: str
    amount_in: int
    token_out: str


@dataclass(frozen=True)
class DepositCall:
    """A deposit into Relay's depository for one order; who is paid by that order stands in no call."""

    order_id: bytes
    depositor: str
    token: str
    amount: int | None
    """None for the native coin, whose amount is the call's value."""


KnownCall = BridgeCall | SwapCall | DepositCall


def read_call(data: bytes, transaction_id: bytes) -> KnownCall | None:
    """Return what `data` would do, or None if its shape is not known. Raises Unreadable.

    A bridge's call is known by its form and not by its name, of which there is one for each bridge: its first argument
    is a structure that begins with the id of the quote.
    """
    selector, arguments = data[:4], data[4:]
    try:
        if selector in _SWAPS:
            return _swap(arguments, _SWAPS[selector])
        if selector in (_DEPOSIT_NATIVE, _DEPOSIT_ERC20):
            return _deposit(selector, arguments)
        if _begins_with_bridge_data(arguments, transaction_id):
            return _bridge(arguments)
    except _DECODING_FAILED as error:
        raise Unreadable("the call does not go on as it begins") from error
    return None


def carries_id(data: bytes, transaction_id: bytes) -> bool:
    """Whether the call names the quote: by its whole id or, in LI.FI's packed calls, by the first 8 bytes of it."""
    return transaction_id in data[4:] or data[4:12] == transaction_id[:8]


def _begins_with_bridge_data(arguments: bytes, transaction_id: bytes) -> bool:
    offset = int.from_bytes(arguments[:_WORD])
    is_inside = len(arguments) >= _WORD and offset % _WORD == 0 and _WORD <= offset < len(arguments)
    return is_inside and arguments[offset : offset + _WORD] == transaction_id


def _bridge(arguments: bytes) -> BridgeCall:
    (fields,) = decode((_BRIDGE_DATA,), arguments)
    transaction_id, _, _, _, asset, receiver, min_amount, chain_id, has_source_swaps, _ = fields
    return BridgeCall(
        transaction_id,
        token_of(asset),
        to_checksum_address(receiver),
        min_amount,
        chain_id,
        has_source_swaps,
    )


def _swap(arguments: bytes, swaps_type: str) -> SwapCall:
    transaction_id, _, _, receiver, min_amount_out, swaps = decode((*_SWAP_HEAD, swaps_type), arguments)
    steps: Sequence[tuple[str, str, str, str, int, bytes, bool]] = (
        swaps if swaps_type.endswith("[]") else [swaps]
    )
    if not steps:
        raise Unreadable("a swap without a step")
    return SwapCall(
        transaction_id,
        to_checksum_address(receiver),
        min_amount_out,
        token_of(steps[0][2]),
        steps[0][4],
        token_of(steps[-1][3]),
    )


def _deposit(selector: bytes, arguments: bytes) -> DepositCall:
    if selector == _DEPOSIT_NATIVE:
        depositor, order_id = decode(("address", "bytes32"), arguments)
        return DepositCall(order_id, to_checksum_address(depositor), "", None)
    depositor, token, amount, order_id = decode(("address", "address", "uint256", "bytes32"), arguments)
    return DepositCall(order_id, to_checksum_address(depositor), token_of(token), amount)


def token_of(address: str) -> str:
    """Return a contract's address with its checksum; empty for the zero address, which stands for the native coin."""
    return "" if address.lower() == _NATIVE else to_checksum_address(address)
