"""Simulate a deposit address on a node before it is shown, without a transaction.

The node runs contracts/rehearsal/Rehearsal.sol with `eth_call` at an unused address. State overrides give this address
its code, coins and tokens. The factory, the token and the recipient are the real ones of the chain. The code runs the
following steps twice: it pays the deposit address, deploys the forwarder, sweeps it, and compares balances.

The slot in which a token stores a balance is unknown. `eth_createAccessList` lists the slots that `balanceOf` reads. If
an override of a slot changes the balance to the written value, it is the right slot.

Sources: go-ethereum's documentation of `eth_call` and `eth_createAccessList`; EIP-7702.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from eth_utils.crypto import keccak
from web3 import Web3
from web3.providers.base import BaseProvider

from chains.client import ChainError
from chains.facts.deposits import Deposit, DepositProblem
from chains.families.evm.abi import account_bytes, encode_balance_of
from chains.families.evm.deposits.calls import GAS_PER_SWEEP
from chains.families.evm.deposits.shipped import FACTORY
from chains.families.evm.quantities import address, data_bytes, hash32, to_hex
from chains.families.evm.signatures import has_own_key
from chains.rpc.json_rpc import Call, JsonRpc, RpcFault, is_execution_failure, is_temporary, json_object

_BUILT = json.loads(Path(__file__).with_name("rehearsal.json").read_text())["Rehearsal"]
_CODE: Final = str(_BUILT["deployedBytecode"])
# The contract only encodes calls, so it needs no node and no middleware.
_CONTRACT: Any = Web3(BaseProvider(), middleware=[]).eth.contract(abi=_BUILT["abi"])

STAGE: Final = Web3.to_checksum_address(keccak(text="quittance: rehearsal of a deposit address")[-20:])
"""The unused address at which the rehearsal runs."""

_COINS = 2
_MAX_PLACES = 20
# Tokens may keep flags in the highest bits of a balance.
_LARGEST_AMOUNT = 2**96


def problem(
    node: JsonRpc,
    deposit: Deposit,
    *,
    recipient: str,
    token: str,
    amount: int,
    is_confirmed: bool = False,
) -> DepositProblem | None:
    """Return None if the node shows that the deposit address forwards the token and the coin; otherwise return the
    problem. If `is_confirmed`, the recipient may be a contract, but not for the native coin.

    Raises ChainError if the node fails.
    """
    # Every simulation sends the native coin. If the payment is in a token, the simulation also sends the token.
    amount = min(amount, _LARGEST_AMOUNT) if token else 0
    calls: list[Call] = [
        ("eth_getCode", [recipient, "latest"]),
        ("eth_getCode", [deposit.factory, "finalized"]),
    ]
    if token:
        calls.append(("eth_createAccessList", [_balance_at_stage(token), "latest"]))
    recipient_code, factory_code, *access_lists = node.batch(calls, list)
    # A recipient with code could lend the coin to the simulation, or send it back after the sweep. Balances don't show
    # this.
    if _has_code(recipient_code) and not (is_confirmed and token):
        return DepositProblem.RECIPIENT_IS_CONTRACT
    if any(map(_is_rejected, [factory_code, *access_lists])):
        return DepositProblem.UNSUPPORTED
    if data_bytes(factory_code) != FACTORY.code:
        return DepositProblem.FACTORY_MISSING
    funded = _funded(node, token, 2 * amount, _places(access_lists[0])) if token else {}
    if funded is None:
        return DepositProblem.UNSUPPORTED
    stage = {"code": _CODE, "balance": hex(_COINS)}
    arguments = [
        *map(account_bytes, (deposit.factory, deposit.address, recipient)),
        data_bytes(deposit.salt),
        account_bytes(token) if token else bytes(20),
        amount,
        GAS_PER_SWEEP,
    ]
    call = {"to": STAGE, "data": _CONTRACT.encode_abi("run", args=arguments)}
    (result,) = node.batch([("eth_call", [call, "latest", {**funded, STAGE: stage}])], list)
    if _is_rejected(result):
        return DepositProblem.NOT_SWEPT if is_execution_failure(result) else DepositProblem.UNSUPPORTED
    output = data_bytes(result)
    if len(output) != 32:  # the node ignored the overrides
        return DepositProblem.UNSUPPORTED
    return DepositProblem.NOT_SWEPT if any(output) else None


def _has_code(result: Any) -> bool:
    """Whether the account is a contract. An account with an EIP-7702 delegation isn't one: its own key still signs."""
    if isinstance(result, RpcFault):
        raise ChainError(f"the node rejected a call: {result.message}")
    code = data_bytes(result)
    return not has_own_key(code)


def _is_rejected(result: Any) -> bool:
    """Whether the node rejected the call. Raises ChainError if a later attempt may succeed."""
    if isinstance(result, RpcFault) and is_temporary(result) and not is_execution_failure(result):
        raise ChainError(f"the node rejected a call: {result.message}")
    return isinstance(result, RpcFault)


def _balance_at_stage(token: str) -> dict[str, str]:
    return {"to": token, "data": to_hex(encode_balance_of(STAGE))}


def _places(access_list: Any) -> list[tuple[str, str]]:
    """Return the contracts and slots that the call reads."""
    entries = json_object(access_list).get("accessList")
    if not isinstance(entries, list):
        raise ChainError("the node returned a malformed access list")
    rows = [json_object(entry) for entry in entries]
    return [
        (address(row.get("address")), hash32(slot)) for row in rows for slot in (row.get("storageKeys") or ())
    ]


def _funded(
    node: JsonRpc, token: str, amount: int, places: Sequence[tuple[str, str]]
) -> dict[str, dict[str, Any]] | None:
    """Return the state override that gives `STAGE` this balance of the token; None if no slot has this effect."""
    value = f"0x{amount:064x}"
    overrides = [{contract: {"stateDiff": {slot: value}}} for contract, slot in places[:_MAX_PLACES]]
    calls: list[Call] = [("eth_call", [_balance_at_stage(token), "latest", each]) for each in overrides]
    for override, result in zip(overrides, node.batch(calls, list) if calls else [], strict=True):
        if not isinstance(result, RpcFault) and data_bytes(result) == amount.to_bytes(32):
            return override
    return None
