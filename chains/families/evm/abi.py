"""The contracts that the service calls and reads, as web3 contract classes with declared ABIs.

Selectors, topics and call data come from these declarations, without network calls. `calls` and `transactions` read
thousands of logs and calls. These two modules compare selectors and topics and slice the words themselves, because
web3's decoding takes about a hundred times as long. Tests check that the results are the same.

Source: ERC-20.
"""

from functools import lru_cache
from typing import Any, Final

from eth_typing import ABI, ABIComponent, ABIComponentIndexed, ABIEvent, ABIFunction
from eth_utils.abi import (
    event_abi_to_log_topic,
    event_signature_to_log_topic,
    function_abi_to_4byte_selector,
    function_signature_to_4byte_selector,
)
from web3 import Web3
from web3.providers.base import BaseProvider

WORD = 32


def _inputs(**types: str) -> list[ABIComponent]:
    return [ABIComponent(name=name.rstrip("_"), type=type_) for name, type_ in types.items()]


def _function(name: str, returns: str, **types: str) -> ABIFunction:
    outputs = [ABIComponent(name="", type=returns)]
    return ABIFunction(
        type="function", name=name, inputs=_inputs(**types), outputs=outputs, stateMutability="nonpayable"
    )


def _view(name: str, returns: str, **types: str) -> ABIFunction:
    return {**_function(name, returns, **types), "stateMutability": "view"}


def _event(name: str, *, indexed: int, **types: str) -> ABIEvent:
    """Return an event whose first `indexed` arguments are topics."""
    inputs = [
        ABIComponentIndexed(name=part["name"], type=part["type"], indexed=place < indexed)
        for place, part in enumerate(_inputs(**types))
    ]
    return ABIEvent(type="event", name=name, inputs=inputs, anonymous=False)


ERC20_ABI: Final[ABI] = [
    _function("transfer", "bool", to="address", value="uint256"),
    _function("transferFrom", "bool", from_="address", to="address", value="uint256"),
    _function("approve", "bool", spender="address", value="uint256"),
    _view("balanceOf", "uint256", owner="address"),
    _view("allowance", "uint256", owner="address", spender="address"),
    _view("symbol", "string"),
    _view("decimals", "uint8"),
    _event("Transfer", indexed=2, from_="address", to="address", value="uint256"),
    _event("Approval", indexed=2, owner="address", spender="address", value="uint256"),
]

# web3 only encodes and decodes here, so it needs neither a node nor middleware.
_OFFLINE = Web3(BaseProvider(), middleware=[])
CODEC: Final = _OFFLINE.codec
ERC20: Final = _OFFLINE.eth.contract(abi=ERC20_ABI)


def account_bytes(address: str) -> bytes:
    """Return the 20 bytes of a 0x address.

    Web3 gets bytes because it rejects strings without a checksum, or looks them up as ENS names.
    """
    return bytes.fromhex(address[2:])


def encode_call(function: str, *arguments: Any) -> bytes:
    """Return the call of an ERC-20 function; addresses as 20 bytes, amounts in base units."""
    return bytes.fromhex(ERC20.encode_abi(function, args=list(arguments))[2:])


@lru_cache(maxsize=256)
def encode_balance_of(owner: str) -> bytes:
    # Cached, because the call is the same for every token.
    return encode_call("balanceOf", account_bytes(owner))


def selector(signature: str) -> bytes:
    """Return the first four bytes of every call of the function, such as `transfer(address,uint256)`."""
    return bytes(function_signature_to_4byte_selector(signature))


def topic(signature: str) -> bytes:
    """Return the first topic of every log of the event, such as `Transfer(address,address,uint256)`."""
    return bytes(event_signature_to_log_topic(signature))


def _erc20_selector(function: str) -> bytes:
    return bytes(function_abi_to_4byte_selector(ERC20.get_function_by_name(function).abi))


def _erc20_topic(event: str) -> bytes:
    return bytes(event_abi_to_log_topic(ERC20.get_event_by_name(event).abi))


TRANSFER: Final = _erc20_selector("transfer")
TRANSFER_FROM: Final = _erc20_selector("transferFrom")
APPROVE: Final = _erc20_selector("approve")
TRANSFER_TOPIC: Final = _erc20_topic("Transfer")
APPROVAL_TOPIC: Final = _erc20_topic("Approval")
