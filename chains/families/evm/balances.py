"""Read a wallet's balances of many tokens in one call, without a deployed contract.

The call (`eth_call`) simulates a contract creation. The creation code calls each token for the owner's balance. The
creation code returns the balances in place of the new contract's code. Each token's call has a gas limit and 32 bytes
for the result. So a token that reverts, loops or returns a megabyte doesn't affect the others.

The limits of one call: creation code has at most 49,152 bytes (EIP-3860). A contract's code has at most 24,576
(EIP-170), must not begin with 0xEF (EIP-3541) and costs 200 gas per byte.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from chains.client import ChainError
from chains.families.evm.abi import WORD, encode_balance_of
from chains.families.evm.quantities import data_bytes, quantity, to_hex
from chains.families.evm.tokens import balance_call
from chains.rpc.json_rpc import MAX_BATCH, Call, JsonRpc, RpcFault, is_execution_failure, result_of

MAX_IN_A_PART = 700
GAS_FOR_EACH = 150_000
# The maximum number of requests for single tokens, if the node doesn't run the combined call.
MAX_SINGLE_ROUNDS = 3
# The code contains the addresses one after the other, so an address of another length would shift the rest.
_ADDRESS = re.compile("0x[0-9a-fA-F]{40}")
_RESULT_BYTES = 1 + WORD
_DEPOSIT_GAS = 200
_GAS_TO_END = 50_000
_GAS_FOR_ONE = GAS_FOR_EACH + 50_000  # including the base cost of a transaction
# The codes that nodes return when a request exceeds their limits.
_LIMITED = {-32005, 429}

_PROGRAM = """
    60 24 60 4d 60 00 39    ; CODECOPY(0, 0x4d, 36): balanceOf(owner), as each token is called
    60 71                   ; place: offset of the next token's address in this code
    60 81                   ; out: where its result goes; the byte before all results, at 0x80, stays zero
    5b                      ; 0x0b: JUMPDEST, with out and place on the stack
    38 82 10                ; place < CODESIZE
    63 %08x 5a 11     ; GAS > the gas needed to finish
    16 15 60 45 57          ; unless both, JUMP 0x45
    60 14 82 60 4c 39       ; CODECOPY(0x4c, place, 20): the word at 0x40 is the address
    60 20 81 60 01 01       ; the response's 32 bytes go to out + 1
    60 24 60 00             ; the call's 36 bytes are at 0
    60 40 51                ; the address
    62 %06x fa          ; STATICCALL, with the gas for each
    3d 60 20 14 16          ; it succeeded, and returned 32 bytes exactly
    81 53                   ; MSTORE8(out, that)
    60 21 01                ; out + 33
    90 60 14 01 90          ; place + 20
    60 0b 56                ; JUMP 0x0b
    5b                      ; 0x45: JUMPDEST
    60 80 80 91 03 90 f3    ; RETURN(0x80, out - 0x80)
"""


def balances(node: JsonRpc, owner: str, tokens: Sequence[str]) -> dict[str, int]:
    """Return the owner's balance of each token from this node; "" is the native coin. Invalid results are omitted.

    Usually one request is enough. If the node doesn't run the call, or the gas isn't enough, up to MAX_SINGLE_ROUNDS
    more requests follow. Raises ChainError.
    """
    contracts = [token for token in dict.fromkeys(tokens) if _ADDRESS.fullmatch(token)]
    parts = list(_parts(contracts))
    calls: list[Call] = [("eth_getBalance", [owner, "latest"]), *(_call(owner, part) for part in parts)]

    def read(results: list[Any]) -> tuple[int, list[list[int | None]]]:
        coins, *lists = results
        return quantity(result_of(coins)), [
            _read(result, len(part)) for part, result in zip(parts, lists, strict=True)
        ]

    coins, batches = node.batch(calls, read)
    balances: dict[str, int | None] = {"": coins} if "" in tokens else {}
    unread: list[str] = []
    for part, amounts in zip(parts, batches, strict=True):
        balances |= zip(part, amounts, strict=False)
        unread += part[len(amounts) :]
    try:
        balances |= _one_by_one(node, owner, unread)
    except ChainError:
        if not any(batches):
            raise
    return {token: balance for token, balance in balances.items() if balance is not None}


def creation_code(owner: str, tokens: Sequence[str]) -> bytes:
    """Return the creation code that queries the owner's balances of these tokens."""
    return (
        _program(len(tokens))
        + encode_balance_of(owner)
        + b"".join(bytes.fromhex(token[2:]) for token in tokens)
    )


def _program(tokens: int) -> bytes:
    """Return the assembled program. The program stops early if it would otherwise lack the gas to return this many
    results.
    """
    to_go_on = tokens * _RESULT_BYTES * _DEPOSIT_GAS + GAS_FOR_EACH * 65 // 64 + _GAS_TO_END
    lines = (_PROGRAM % (to_go_on, GAS_FOR_EACH)).strip().splitlines()
    return bytes.fromhex("".join(line.partition(";")[0] for line in lines))


def _parts(tokens: Sequence[str]) -> Iterator[Sequence[str]]:
    return (tokens[start : start + MAX_IN_A_PART] for start in range(0, len(tokens), MAX_IN_A_PART))


def _call(owner: str, part: Sequence[str]) -> Call:
    return "eth_call", [{"data": to_hex(creation_code(owner, part))}, "latest"]


def _read(result: Any, length: int) -> list[int | None]:
    """Return the balances of a part's tokens; None for an invalid result.

    If the gas wasn't enough, the last tokens are missing. The list is empty if the node did not run the call.
    """
    if isinstance(result, RpcFault):
        if result.code in _LIMITED:
            raise ChainError(f"the node rejected a call: {result.message}")
        return []
    data = data_bytes(result)
    count, rest = divmod(len(data) - 1, _RESULT_BYTES)
    if rest or not data or data[0] or count > length:
        return []
    results = [data[at : at + _RESULT_BYTES] for at in range(1, len(data), _RESULT_BYTES)]
    if any(result[0] > 1 for result in results):
        return []
    return [int.from_bytes(result[1:]) if result[0] == 1 else None for result in results]


def _one_by_one(node: JsonRpc, owner: str, tokens: Sequence[str]) -> dict[str, int | None]:
    """Query the tokens separately, in few requests. Raises ChainError."""
    calls = [_single_question(owner, token) for token in tokens]
    results = node.batch(calls, list, at_once=max(MAX_BATCH, -(-len(calls) // MAX_SINGLE_ROUNDS)))
    if results and all(
        isinstance(result, RpcFault) and not is_execution_failure(result) for result in results
    ):
        result_of(results[0])
    return {token: _word(result) for token, result in zip(tokens, results, strict=True)}


def _single_question(owner: str, token: str) -> Call:
    method, (call, block) = balance_call(token, owner)
    return method, [{**call, "gas": hex(_GAS_FOR_ONE)}, block]


def _word(result: Any) -> int | None:
    try:
        data = data_bytes(result)
    except ChainError:
        return None
    return int.from_bytes(data) if len(data) == WORD else None
