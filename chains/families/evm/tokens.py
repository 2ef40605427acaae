"""Read ERC-20 contracts: balances, allowances, metadata."""

from collections.abc import Sequence
from typing import Any

from eth_abi.exceptions import DecodingError

from chains.client import ChainError, TokenMetadata
from chains.families.evm.abi import CODEC, WORD, account_bytes, encode_balance_of, encode_call
from chains.families.evm.quantities import data_bytes, to_hex
from chains.rpc.json_rpc import Call, sound

_SYMBOL = encode_call("symbol")
_DECIMALS = encode_call("decimals")


def balance_call(token: str, owner: str) -> Call:
    """Return the question how many base units `owner` has."""
    return _call(token, encode_balance_of(owner))


def allowance_call(token: str, owner: str, spender: str) -> Call:
    """Return the question how many base units of the owner's `spender` may move."""
    return _call(token, encode_call("allowance", account_bytes(owner), account_bytes(spender)))


def metadata_calls(token: str) -> list[Call]:
    """Return the questions whose answers `metadata` reads."""
    return [_call(token, _SYMBOL), _call(token, _DECIMALS)]


def word(answer: Any) -> int:
    """Return the one unsigned integer that a contract's call answered with."""
    data = data_bytes(sound(answer))
    if len(data) < WORD:
        raise ChainError("the contract's answer is not a number: is the token's address right?")
    return int.from_bytes(data[:WORD])


def metadata(answers: Sequence[Any]) -> list[TokenMetadata]:
    """Return each token's metadata from the answers to `metadata_calls`."""
    return [
        TokenMetadata(_text(sound(symbol)), word(decimals))
        for symbol, decimals in zip(answers[::2], answers[1::2], strict=True)
    ]


def _call(contract: str, data: bytes) -> Call:
    return "eth_call", [{"to": contract, "data": to_hex(data)}, "latest"]


def _text(answer: Any) -> str:
    """Return a contract's string; some early tokens answer with 32 padded bytes instead."""
    data = data_bytes(answer)
    try:
        return str(CODEC.decode(["string"], data)[0])
    except (DecodingError, UnicodeDecodeError, OverflowError):
        return data[:WORD].rstrip(b"\0").decode("utf-8", "replace")
