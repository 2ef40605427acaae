"""Read ERC-20 contracts: balances, allowances, metadata."""

from collections.abc import Sequence
from typing import Any

from eth_abi.exceptions import DecodingError

from chains.client import ChainError, TokenMetadata
from chains.families.evm.abi import CODEC, WORD, account_bytes, encode_balance_of, encode_call
from chains.families.evm.quantities import data_bytes, to_hex
from chains.rpc.json_rpc import Call, result_of

_SYMBOL = encode_call("symbol")
_DECIMALS = encode_call("decimals")


def balance_call(token: str, owner: str) -> Call:
    return _call(token, encode_balance_of(owner))


def allowance_call(token: str, owner: str, spender: str) -> Call:
    return _call(token, encode_call("allowance", account_bytes(owner), account_bytes(spender)))


def metadata_calls(token: str) -> list[Call]:
    return [_call(token, _SYMBOL), _call(token, _DECIMALS)]


def word(result: Any) -> int:
    """Return a contract call's result as one unsigned integer."""
    data = data_bytes(result_of(result))
    if len(data) < WORD:
        raise ChainError("the contract did not return a number; check the token's address")
    return int.from_bytes(data[:WORD])


def metadata(results: Sequence[Any]) -> list[TokenMetadata]:
    return [
        TokenMetadata(_text(result_of(symbol)), word(decimals))
        for symbol, decimals in zip(results[::2], results[1::2], strict=True)
    ]


def _call(contract: str, data: bytes) -> Call:
    return "eth_call", [{"to": contract, "data": to_hex(data)}, "latest"]


def _text(result: Any) -> str:
    """Return a contract's string; some early tokens return 32 padded bytes instead."""
    data = data_bytes(result)
    try:
        return str(CODEC.decode(["string"], data)[0])
    except (DecodingError, UnicodeDecodeError, OverflowError):
        return data[:WORD].rstrip(b"\0").decode("utf-8", "replace")
