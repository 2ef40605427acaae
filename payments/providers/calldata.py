"""Decode the known calls to providers' contracts. Pure functions.

These are LI.FI's bridge calls (which all start with `BridgeData`), LI.FI's same-chain swaps, and deposits into
Relay's depository. Sources: lifinance/contracts (`ILiFi.BridgeData`, `LibSwap.SwapData`, `GenericSwapFacet`,
`GenericSwapFacetV3`), and recorded quotes of Relay.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from eth_abi.abi import decode
from eth_abi.exceptions import DecodingError
from eth_utils.address import to_checksum_address

_WORD = 32
_NATIVE = "0x0000000000000000000000000000000000000000"
# LI.FI's placeholder for a receiver whose address is longer than 20 bytes. The bridge's own data has the address.
NOT_EVM = "0x11f111f111f111F111f111f111F111f111f111F1"

_BRIDGE_DATA = "(bytes32,string,string,address,address,address,uint256,uint256,bool,bool)"
_SWAP_DATA = "(address,address,address,address,uint256,bytes,bool)"
_SWAP_HEAD = ("bytes32", "string", "string", "address", "uint256")
# For each same-chain swap function, its selector and the type of its swap argument (one swap or a list).
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
    """The call data starts like a known call but can't be decoded."""


@dataclass(frozen=True)
class BridgeCall:
    """LI.FI's `BridgeData`.

    `asset` and `min_amount` describe the money that enters the bridge on the source chain, not the delivered money.
    If the receiver is on a chain of another family, `receiver` is NOT_EVM.
    """

    transaction_id: bytes
    asset: str
    receiver: str
    min_amount: int
    destination_chain_id: int
    has_source_swaps: bool


@dataclass(frozen=True)
class SwapCall:
    """A same-chain swap. The contract ensures that `receiver` gets at least `min_amount_out` of `token_out`."""

    transaction_id: bytes
    receiver: str
    min_amount_out: int
    token_in: str
    amount_in: int
    token_out: str


@dataclass(frozen=True)
class DepositCall:
    """A deposit into Relay's depository for one order. The call doesn't contain the recipient."""

    order_id: bytes
    depositor: str
    token: str
    amount: int | None
    """None for the native coin, whose amount is the call's value."""


KnownCall = BridgeCall | SwapCall | DepositCall


def read_call(data: bytes, transaction_id: bytes) -> KnownCall | None:
    """Decode call data. Return None if the function is unknown. Raises Unreadable.

    Each bridge has its own function, so recognise a bridge call by its first argument: a struct that starts with the
    quote's id.
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
        raise Unreadable("the call data can't be decoded") from error
    return None


def carries_id(data: bytes, transaction_id: bytes) -> bool:
    """Whether the call carries the quote's id. LI.FI's packed calls carry only its first 8 bytes."""
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
    """Return the checksummed address. The zero address means native coin, and becomes ""."""
    return "" if address.lower() == _NATIVE else to_checksum_address(address)
